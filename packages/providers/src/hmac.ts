import {
  sourceOptionsSchema,
  type Provider,
  type SourceDefinition,
  type SourceOptions,
} from "@millrace/core";
import type { z } from "zod";
import { defineProvider } from "./define-provider.ts";
import { textToHeader, header, json, type Locator } from "./identity/delivery-reader.ts";
import { hmacOptionsSchema, parseHmacOptions, type HmacOptions } from "./hmac-options.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomHex, randomWhsec } from "./random-text.ts";
import { customSamples } from "./samples/custom-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";

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
  const provider = createHmacProvider(data ?? PLACEHOLDER);
  const problems = error?.issues;
  return { provider: problems ? { ...provider, problems } : provider, options: policy };
}

type ParsedOptions = z.output<typeof hmacOptionsSchema>;

/** Stands for options that are wrong, until the config is refused. */
const PLACEHOLDER = hmacOptionsSchema.parse({ header: "x-signature", id: "json:id" });

function createHmacProvider(options: ParsedOptions): Provider<never> {
  const { algorithm, encoding, id, key, message = "{body}", timestamp, type } = options;
  const keptHeaders = [id, type].flatMap((place) => (place?.kind === "header" ? [place.name] : []));
  return defineProvider({
    name: "hmac",
    scheme: signatureScheme({
      algorithm: hmacAlgorithm({ hash: algorithm, encoding, keys: keysIn(key) }),
      format: plainSignature(options.prefix),
      header: options.header,
      message,
      ...(id.kind === "header" && { idHeader: id.name }),
      timestamp,
    }),
    identify: identifyOne({
      id: locatorOf(id),
      type: type === undefined ? () => "missing" : locatorOf(type),
      typeIsOptional: true,
    }),
    idIsSigned: id.kind === "json" || message.includes("{id}"),
    keptHeaders: ["content-type", ...keptHeaders],
    samples: customSamples({ id, type }),
    generateSecret: key === "base64" ? randomWhsec : randomHex,
    identityHeaders: (request) => ({
      ...(id.kind === "header" && { [id.name]: textToHeader(request.eventId) }),
      ...(type?.kind === "header" && { [type.name]: textToHeader(request.type) }),
    }),
  });
}

function locatorOf(place: ParsedOptions["id"]): Locator {
  return place.kind === "header" ? header(place.name) : json(place.name);
}
