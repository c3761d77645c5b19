import { z } from "zod";
import { defineProvider, defineProviderWith, type OptionParts } from "../define-provider.ts";
import type { Locator } from "../identity/locations.ts";
import { digitsOf } from "../samples/create-samples.ts";
import hookMeshSamples from "../samples/hook-mesh.json" with { type: "json" };
import standardSamples from "../samples/standard-webhooks.json" with { type: "json" };
import svixSamples from "../samples/svix.json" with { type: "json" };
import { KEY_ENCODINGS, type KeyEncoding } from "../signature/prepare-secrets.ts";
import { signature, standardSignature } from "../signature/signature.ts";

export interface KeyOptions {
  /**
   * Encoding of the secret: base64 with `whsec_` or `v1,whsec_` in front or without, text (`utf8`),
   * or `hex`. A public key (`whpk_...`) needs no setting. Default: `base64`; of Hook Mesh, each
   * that fits the secret.
   */
  readonly key?: KeyEncoding | undefined;
}

const keyOptions = z.strictObject({ key: z.enum(KEY_ENCODINGS).optional() });

/** Events of a Standard Webhooks sender. */
export const standardWebhooks = defineProviderWith<KeyOptions, "data">(
  "standard-webhooks",
  keyOptions,
  standardParts,
);

const STANDARD = standardSignature();
const SVIX = standardSignature("base64", "svix");

/**
 * Events of senders that deliver through Svix: Standard Webhooks with headers of its own, or with
 * the standard's. The id is that of the form that was verified: the other's header may hold
 * anything.
 */
export const svix = defineProvider({
  ...standardParts({ prefix: "svix" }),
  name: "svix",
  verify: [SVIX, STANDARD],
  id: (reader) => reader.header(SVIX.isPresent(reader.delivery) ? "svix-id" : "webhook-id"),
  type: ["json:type", "json:event_type"],
  repeatsDays: 5,
  secretPrefix: "whsec_",
  keptHeaders: ["content-type", "svix-id", "svix-timestamp", "webhook-id", "webhook-timestamp"],
  samples: svixSamples,
});

/**
 * Events of Hook Mesh, in both of its documented forms: as Standard Webhooks has it, and
 * `x-hookmesh-signature` over the body. The second has no signed time: the `timestamp` in its body
 * is when the event happened, which a retry two days later keeps. Its pages show both a `whsec_`
 * secret and 64 hexadecimal digits, and do not say which bytes sign.
 */
export const hookMesh = defineProviderWith<KeyOptions, "payload">(
  "hook-mesh",
  keyOptions,
  ({ key = ANY_KEY }) => {
    const standard = standardSignature(key);
    const ofBody = signature({ header: "x-hookmesh-signature", key });
    // In the form that signs the body alone anyone could add the header.
    const signedId: Locator = (reader) =>
      standard.isPresent(reader.delivery) || !ofBody.isPresent(reader.delivery)
        ? reader.header("webhook-id")
        : "missing";
    const sign: typeof standard.sign = (request) =>
      standard.sign({ ...request, eventId: jobIdOf(request.eventId) });
    return {
      ...standardParts({}),
      idPrefix: "evt_",
      verify: [{ ...standard, sign }, ofBody],
      // The body must be JSON: `<id>.<time>.<body>` of one form would be a body in the other.
      id: ["json:event_id", signedId],
      type: "json:event_type",
      repeatsDays: 2,
      dataField: "payload",
      answer: { status: 200 },
      samples: hookMeshSamples,
    };
  },
);

const ANY_KEY: KeyEncoding[] = ["base64", "utf8", "hex"];

// A job's id is another thing than the event's, which may hold what no header can.
function jobIdOf(eventId: string): string {
  return /^[A-Za-z0-9_-]{1,128}$/.test(eventId) ? eventId : `job_${digitsOf(eventId, "job", 16)}`;
}

// Senders that sign as Standard Webhooks has it, each with the form of its secret.

/** Events of the Claude API (`whsec_`). */
export const anthropic = alias("anthropic");
/** Events of BigCommerce: the key is the text of the API account's client secret. */
export const bigcommerce = alias("bigcommerce", { key: "utf8", type: "json:scope" });
/** Events of Clerk, by Svix (`whsec_`). */
export const clerk = alias("clerk", { prefix: "svix" });
/** Events of Composio: the key is the whole secret as text. */
export const composio = alias("composio", { key: "utf8" });
/** Events of Dodo Payments (`whsec_`). */
export const dodoPayments = alias("dodo-payments");
/** Events of the Gemini API's static webhooks (`whsec_`). Dynamic ones are signed otherwise. */
export const gemini = alias("gemini");
/** Events of ImageKit: the key is the whole secret as text. */
export const imagekit = alias("imagekit", { key: "utf8" });
/** Events of Lithic (`whsec_`). */
export const lithic = alias("lithic", { type: "json:event_type" });
/** Events of Liveblocks (`whsec_`). */
export const liveblocks = alias("liveblocks");
/** Events of Loops (`whsec_`). */
export const loops = alias("loops", { type: "json:eventName" });
/** Events of OpenAI: a secret without `whsec_` is its text, as in OpenAI's SDK. */
export const openai = alias("openai", { key: ["base64", "utf8"] });
/** Events of Polar: the key is the whole secret as text. */
export const polar = alias("polar", { key: "utf8" });
/** Events of Privy, by Svix (`whsec_`). */
export const privy = alias("privy", { prefix: "svix" });
/** Events of Render (`whsec_`). */
export const render = alias("render");
/** Events of Replicate (`whsec_`): predictions, which have no type. */
export const replicate = alias("replicate");
/** Events of Resend, by Svix (`whsec_`). */
export const resend = alias("resend", { prefix: "svix" });
/** Events of Scalekit (`whsec_`). */
export const scalekit = alias("scalekit");
/** Events of Seam, by Svix (`whsec_`). */
export const seam = alias("seam", { prefix: "svix", type: "json:event_type" });
/** Events of Stytch, by Svix (`whsec_`). */
export const stytch = alias("stytch", {
  prefix: "svix",
  type: "{json:object_type}.{json:action}",
});
/** Events of Whop: the key is the whole secret as text. */
export const whop = alias("whop", { key: "utf8" });

interface Differences {
  readonly key?: KeyEncoding | KeyEncoding[] | undefined;
  readonly prefix?: string;
  readonly type?: string;
}

function alias(name: string, differences: Differences = {}) {
  return defineProvider({ name, ...standardParts(differences) });
}

function standardParts({
  key,
  prefix = "webhook",
  type = "json:type",
}: Differences): OptionParts<"data"> {
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
    ...(type === "json:type" && { samples: standardSamples }),
  };
}
