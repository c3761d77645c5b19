import { z } from "zod";
import {
  defineProvider,
  defineProviderWith,
  type ProviderParts,
  type SourceFactory,
} from "./define-provider.ts";
import samples from "./samples/standard-webhooks.json" with { type: "json" };
import { KEY_ENCODINGS, type KeyEncoding } from "./signature/prepare-secrets.ts";
import { standardSignature } from "./signature/signature.ts";

export interface StandardWebhooksOptions {
  /**
   * Encoding of the secret: the standard's base64 with `whsec_` or `v1,whsec_` in front or without,
   * or text (`utf8`). A public key (`whpk_...`) needs no setting. Default: `base64`.
   */
  readonly key?: KeyEncoding | undefined;
}

/**
 * Events of a Standard Webhooks sender.
 *
 * Source: the Standard Webhooks specification, spec/standard-webhooks.md.
 */
export const standardWebhooks = defineProviderWith<StandardWebhooksOptions, "data">(
  "standard-webhooks",
  z.strictObject({ key: z.enum(KEY_ENCODINGS).optional() }),
  standardParts,
);

/** A sender that signs as Standard Webhooks has it, with headers of its prefix. */
export function standardProvider(
  name: string,
  differences: Parameters<typeof standardParts>[0] = {},
): SourceFactory<never, "data"> {
  return defineProvider({ name, ...standardParts(differences) });
}

function standardParts(differences: {
  readonly key?: KeyEncoding | KeyEncoding[] | undefined;
  readonly prefix?: string;
  readonly type?: string;
}): Omit<ProviderParts<never, "data">, "name"> {
  const { key, prefix = "webhook", type = "json:type" } = differences;
  return {
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
  };
}
