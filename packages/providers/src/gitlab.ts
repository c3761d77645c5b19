import { z } from "zod";
import { defineProviderWith } from "./define-provider.ts";
import { textToHeader } from "./identity/delivery-reader.ts";
import samples from "./samples/gitlab.json" with { type: "json" };
import { signature, standardSignature } from "./signature/signature.ts";

export interface GitlabOptions {
  /**
   * The kind of the secret: the webhook's signing token (`signature`, the default), or the older
   * secret token (`token`), which covers nothing of a delivery.
   */
  readonly auth?: "signature" | "token" | undefined;
}

/**
 * Events of GitLab. With a signing token it signs as Standard Webhooks has it, and `webhook-id` is
 * a signed identity; a sender with both must be held to the signature, so the other token counts
 * for nothing then. With `auth: "token"` the identity is `Idempotency-Key`, which a retry keeps, or
 * in versions without it the delivery's UUID, and is unsigned.
 *
 * Type: the body's `object_kind`, or a system hook's `event_name`.
 *
 * Source: GitLab's pages on webhooks, and app/services/web_hook_service.rb.
 */
export const gitlab = defineProviderWith<GitlabOptions>(
  "gitlab",
  z.strictObject({ auth: z.enum(["signature", "token"]).optional() }),
  ({ auth = "signature" }) => ({
    ...(auth === "signature"
      ? { verify: standardSignature(), id: "header:webhook-id", idIsSigned: true }
      : {
          verify: signature({ header: "x-gitlab-token", algorithm: "token" }),
          id: ["header:idempotency-key", "header:x-gitlab-webhook-uuid"],
        }),
    idPrefix: "uuid",
    type: ["json:object_kind", "json:event_name"],
    typeIsOptional: true,
    keptHeaders: [
      ...["content-type", "idempotency-key", "webhook-id", "webhook-timestamp"],
      ...["event", "event-uuid", "instance", "webhook-uuid"].map((name) => `x-gitlab-${name}`),
    ],
    samples,
    sampleHeaders: ({ eventId }) => ({ "idempotency-key": textToHeader(eventId) }),
  }),
);
