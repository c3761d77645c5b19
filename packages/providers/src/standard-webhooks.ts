import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider, type SourceFactory } from "./define-provider.ts";
import samples from "./samples/standard-webhooks.json" with { type: "json" };
import type { KeyEncoding } from "./signature/prepare-secrets.ts";
import { standardSignature } from "./signature/signature.ts";

export interface StandardWebhooksOptions<Type extends string = string> extends SourceOptions<Type> {
  /**
   * Encoding of the secret: the standard's base64 with `whsec_` or `v1,whsec_` in front or without,
   * or text (`utf8`). A public key (`whpk_...`) needs no setting. Default: `base64`.
   */
  readonly key?: KeyEncoding;
}

/**
 * Events of a Standard Webhooks sender. Identity: `webhook-id`; type: the body's `type`.
 *
 * Source: the Standard Webhooks specification, spec/standard-webhooks.md.
 *
 * @throws `invalid_config` for a `key` that is no encoding.
 */
export function standardWebhooks<Type extends string = string>(
  options: StandardWebhooksOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "data"> {
  const { key, ...policy } = options;
  return standardProvider({ name: "standard-webhooks", key })(policy);
}

/** A sender that signs as Standard Webhooks has it, with headers of its prefix. */
export function standardProvider(parts: {
  readonly name: string;
  readonly key?: KeyEncoding | KeyEncoding[] | undefined;
  readonly prefix?: string;
  readonly type?: string;
}): SourceFactory<never, "data"> {
  const { name, key, prefix = "webhook", type = "json:type" } = parts;
  return defineProvider({
    name,
    idPrefix: "msg_",
    verify: standardSignature(key, prefix),
    id: `header:${prefix}-id`,
    type,
    typeIsOptional: true,
    idIsSigned: true,
    repeatsDays: 3,
    dataField: "data",
    keptHeaders: ["content-type", `${prefix}-id`, `${prefix}-timestamp`],
    ...(type === "json:type" && { samples }),
  });
}
