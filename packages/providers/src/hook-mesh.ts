import { z } from "zod";
import { defineProviderWith } from "./define-provider.ts";
import type { Locator } from "./identity/locations.ts";
import { digitsOf } from "./samples/define-samples.ts";
import samples from "./samples/hook-mesh.json" with { type: "json" };
import { KEY_ENCODINGS, type KeyEncoding } from "./signature/prepare-secrets.ts";
import { signature, standardSignature } from "./signature/signature.ts";

export interface HookMeshOptions {
  /**
   * The way from the secret to a key. Hook Mesh's pages show both a `whsec_` secret and 64
   * hexadecimal digits and do not say which bytes sign; unset, each reading that fits the secret
   * verifies.
   */
  readonly key?: KeyEncoding | undefined;
}

/**
 * Events of Hook Mesh, in both of its documented forms: `webhook-id`, `-timestamp` and `-signature`
 * as Standard Webhooks has them, and `x-hookmesh-signature` with the HMAC-SHA256 of the body in
 * hexadecimal. The second has no signed time; the `timestamp` in its body is when the event
 * happened, which a retry two days later keeps, so it is not held against the clock.
 *
 * Identity: the body's `event_id`, or `webhook-id` where that is signed and the body has none;
 * type: `event_type`, or `unknown` in a body without Hook Mesh's envelope. It is always answered
 * 200, as Hook Mesh documents.
 *
 * Source: Hook Mesh's pages on webhook signatures and on idempotency.
 */
export const hookMesh = defineProviderWith<HookMeshOptions, "payload">(
  "hook-mesh",
  z.strictObject({ key: z.enum(KEY_ENCODINGS).optional() }),
  ({ key = ANY_KEY }) => {
    const standard = standardSignature(key);
    const ofBody = signature({ header: "x-hookmesh-signature", key });
    // In the form that signs the body alone anyone could add the header.
    const signedId: Locator = (reader) =>
      standard.isPresent(reader.delivery) || !ofBody.isPresent(reader.delivery)
        ? reader.header("webhook-id")
        : "missing";
    return {
      verify: [
        {
          ...standard,
          sign: (request) => standard.sign({ ...request, eventId: jobIdOf(request.eventId) }),
        },
        ofBody,
      ],
      // The body must be JSON: `<id>.<time>.<body>` of one form would be a body in the other.
      id: ["json:event_id", signedId],
      type: "json:event_type",
      typeIsOptional: true,
      idIsSigned: true,
      repeatsDays: 2,
      dataField: "payload",
      keptHeaders: ["content-type", "webhook-id", "webhook-timestamp"],
      answer: { status: 200 },
      samples,
    };
  },
);

const ANY_KEY: KeyEncoding[] = ["base64", "utf8", "hex"];

// A job's id is another thing than the event's, which may hold what no header can.
function jobIdOf(eventId: string): string {
  return /^[A-Za-z0-9_-]{1,128}$/.test(eventId) ? eventId : `job_${digitsOf(eventId, "job", 16)}`;
}
