import { sourceOptionsSchema, type SourceDefinition, type SourceOptions } from "@millrace/core";
import type { z } from "zod";
import { defineProvider, type SourceFactory } from "./define-provider.ts";
import { hmacOptionsSchema, parseHmacOptions, type HmacOptions } from "./hmac-options.ts";
import type { Place } from "./identity/locations.ts";
import { signature } from "./signature/signature.ts";

/**
 * Events of a sender of your own, or of one that Millrace does not know yet: an HMAC in a header,
 * over the body or over a template of it.
 *
 * ```ts
 * acme: hmac({
 *   header: "x-acme-signature", prefix: "sha256=", id: "json:id", type: "json:type",
 *   timestamp: { header: "x-acme-time" }, message: "{ts}.{body}",
 * })
 * ```
 *
 * The config that it stands in is refused with every problem at once.
 */
export function hmac<Type extends string = string>(
  options: HmacOptions & SourceOptions<Type>,
): SourceDefinition<NoInfer<Type>, never> {
  const policyKeys = Object.keys(sourceOptionsSchema.shape);
  const entries = Object.entries(options ?? {});
  const policy: SourceOptions<Type> = Object.fromEntries(
    entries.filter(([key]) => policyKeys.includes(key)),
  );
  const own = Object.fromEntries(entries.filter(([key]) => !policyKeys.includes(key)));
  const { data, error } = parseHmacOptions(own);
  const source = createHmacProvider(data ?? PLACEHOLDER)(policy);
  const problems = error?.issues;
  return problems ? { ...source, provider: { ...source.provider, problems } } : source;
}

type ParsedOptions = z.output<typeof hmacOptionsSchema>;

/** Stands for options that are wrong, until the config is refused. */
const PLACEHOLDER = hmacOptionsSchema.parse({ header: "x-signature", id: "json:id" });

function createHmacProvider(options: ParsedOptions): SourceFactory<never, never> {
  const { id, type, timestamp, attemptFields, message = "{body}", ...signing } = options;
  const template = message.replace("{id}", `{header:${id.name}}`);
  return defineProvider({
    name: "hmac",
    verify: signature({ ...signing, message: template, ...(timestamp && { time: timestamp }) }),
    id: textOf(id),
    ...(type && { type: textOf(type) }),
    typeIsOptional: true,
    idIsSigned: id.kind === "json" || message.includes("{id}"),
    attemptFields,
  });
}

function textOf({ kind, name }: Place): string {
  return `${kind}:${name}`;
}
