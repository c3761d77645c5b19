import { defineProvider } from "../define-provider.ts";
import { signature, timedSignature } from "../signature/signature.ts";
import { LONG_TOLERANCE_MS } from "../signature/signed-message.ts";

/** Events of Box, with a signature for each of an app's two keys. */
export const box = defineProvider({
  name: "box",
  verify: signature({
    header: ["box-signature-primary", "box-signature-secondary"],
    encoding: "base64",
    message: "{body}{ts}",
    time: { header: "box-delivery-timestamp", unit: "rfc3339" },
    toleranceMs: 600_000,
  }),
  id: "json:id",
  type: "json:trigger",
  idIsSigned: true,
});

/** Events of Mux. `attempts` grows with each delivery. */
export const mux = defineProvider({
  name: "mux",
  verify: timedSignature("mux-signature"),
  id: "json:id",
  type: "json:type",
  idIsSigned: true,
  attemptFields: ["attempts"],
  dataField: "data",
});

/**
 * Events of Sanity. The body is yours (a projection), so that id and type stand in headers, which
 * the signature does not cover. The tolerance is a day, as none is documented.
 */
export const sanity = defineProvider({
  name: "sanity",
  verify: timedSignature("sanity-webhook-signature", {
    encoding: "base64url",
    time: { unit: "ms" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: "header:idempotency-key",
  type: "header:sanity-operation",
});

/**
 * Events of Twilio Segment, one in a delivery: of a batch it signs the first alone, in another
 * form, so that batches are refused.
 */
export const segment = defineProvider({
  name: "segment",
  verify: signature({ header: "x-signature", algorithm: "sha1" }),
  id: "json:messageId",
  type: "json:type",
  idIsSigned: true,
  repeatsDays: 1,
});
