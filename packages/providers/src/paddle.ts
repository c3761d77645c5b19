import { defineProvider } from "./define-provider.ts";
import samples from "./samples/paddle.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { PADDLE_TYPES } from "./types/paddle-types.ts";

/**
 * Events of Paddle Billing. Of several `h1`, as they are sent while a secret is being changed, any
 * will do; Paddle's own SDK looks at the last. The tolerance is its five seconds, here both ways:
 * `toleranceMs` widens it where clocks are not that good. Identity: `event_id`, not
 * `notification_id`; type: `event_type`.
 *
 * Source: https://developer.paddle.com/webhooks/signature-verification and paddle-node-sdk's
 * webhooks-validator.js.
 */
export const paddle = defineProvider({
  name: "paddle",
  verify: signature({
    header: "paddle-signature",
    pairs: { separator: ";", signature: "h1", time: "ts" },
    message: "{ts}:{body}",
    time: {},
    toleranceMs: 5_000,
  }),
  id: "json:event_id",
  type: "json:event_type",
  idIsSigned: true,
  attemptFields: ["notification_id"],
  repeatsDays: 3,
  secretPrefix: "pdl_ntfset_",
  types: PADDLE_TYPES,
  dataField: "data",
  answer: { status: 200 },
  samples,
});
