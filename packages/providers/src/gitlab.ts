import { MillraceError, type SourceDefinition, type SourceOptions } from "@millrace/core";
import { defineProvider, type ProviderParts } from "./define-provider.ts";
import { textToHeader } from "./identity/delivery-reader.ts";
import samples from "./samples/gitlab.json" with { type: "json" };
import { signature, standardSignature } from "./signature/signature.ts";

export interface GitlabOptions<Type extends string = string> extends SourceOptions<Type> {
  /**
   * The kind of the secret: the webhook's signing token (`signature`, the default), or the older
   * secret token (`token`), which covers nothing of a delivery.
   */
  readonly auth?: "signature" | "token";
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
 *
 * @throws `invalid_config` for an unknown `auth`.
 */
export function gitlab<Type extends string = string>(
  options: GitlabOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, never> {
  const { auth = "signature", ...policy } = options;
  if (auth !== "signature" && auth !== "token") {
    throw new MillraceError(
      "invalid_config",
      "Cannot use gitlab({ auth }): it is not signature, token",
    );
  }
  return (auth === "token" ? withToken : withSignature)(policy);
}

const SHARED = {
  name: "gitlab",
  idPrefix: "uuid",
  type: ["json:object_kind", "json:event_name"],
  typeIsOptional: true,
  bodyBytesMax: 25 * 1024 * 1024,
  keptHeaders: [
    "content-type",
    "idempotency-key",
    "webhook-id",
    "webhook-timestamp",
    "x-gitlab-event",
    "x-gitlab-event-uuid",
    "x-gitlab-instance",
    "x-gitlab-webhook-uuid",
  ],
  samples,
  sampleHeaders: ({ eventId }) => ({ "idempotency-key": textToHeader(eventId) }),
} satisfies Partial<ProviderParts>;

const withSignature = defineProvider({
  ...SHARED,
  verify: standardSignature(),
  id: "header:webhook-id",
  idIsSigned: true,
});

const withToken = defineProvider({
  ...SHARED,
  verify: signature({ header: "x-gitlab-token", algorithm: "token" }),
  id: ["header:idempotency-key", "header:x-gitlab-webhook-uuid"],
});
