import {
  MillraceError,
  type Provider,
  type SourceDefinition,
  type SourceOptions,
} from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { textToHeader, firstOf, header, json } from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomHex, randomWhsec } from "./random-text.ts";
import { gitlabSamples } from "./samples/gitlab-samples.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { standardScheme } from "./signature/signature-scheme.ts";
import { tokenScheme } from "./signature/token-scheme.ts";

export interface GitlabOptions<Type extends string = string> extends SourceOptions<Type> {
  /**
   * The kind of the secret: the webhook's signing token (`signature`, the default), or the older
   * secret token (`token`), which covers nothing of a delivery.
   */
  readonly auth?: "signature" | "token";
}

const KEPT_HEADERS = [
  "content-type",
  "idempotency-key",
  "webhook-id",
  "webhook-timestamp",
  "x-gitlab-event",
  "x-gitlab-event-uuid",
  "x-gitlab-instance",
  "x-gitlab-webhook-uuid",
];

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
  return { provider: auth === "token" ? withToken : withSignature, options: policy };
}

const type = firstOf(json("object_kind"), json("event_name"));

const withSignature: Provider<never> = defineProvider({
  name: "gitlab",
  scheme: standardScheme(keysIn("base64")),
  identify: identifyOne({ id: header("webhook-id"), type, typeIsOptional: true }),
  idIsSigned: true,
  bodyBytesMax: 25 * 1024 * 1024,
  keptHeaders: KEPT_HEADERS,
  samples: gitlabSamples,
  generateSecret: randomWhsec,
  identityHeaders: ({ eventId }) => ({ "idempotency-key": textToHeader(eventId) }),
});

const withToken: Provider<never> = defineProvider({
  name: "gitlab",
  scheme: tokenScheme("x-gitlab-token"),
  identify: identifyOne({
    id: firstOf(header("idempotency-key"), header("x-gitlab-webhook-uuid")),
    type,
    typeIsOptional: true,
  }),
  idIsSigned: false,
  bodyBytesMax: 25 * 1024 * 1024,
  keptHeaders: KEPT_HEADERS,
  samples: gitlabSamples,
  generateSecret: randomHex,
  identityHeaders: ({ eventId }) => ({ "idempotency-key": textToHeader(eventId) }),
});
