import { defineProvider, type AnswerChallenge } from "./define-provider.ts";
import { digest } from "./identity/locations.ts";
import samples from "./samples/zoom.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { LONG_TOLERANCE_MS } from "./signature/signed-message.ts";

/**
 * Events of Zoom. A URL is asked to prove that it has the secret token (`endpoint.url_validation`),
 * signed like every event. Identity: the SHA-256 of payload, event and time, as Zoom gives none.
 * Type: `event`.
 *
 * Source: Zoom's pages on webhooks, and its webhook-sample.
 */
export const zoom = defineProvider({
  name: "zoom",
  verify: signature({
    header: "x-zm-signature",
    prefix: "v0=",
    message: "v0:{ts}:{body}",
    time: { header: "x-zm-request-timestamp" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: digest("json:payload", "json:event", "json:event_ts"),
  type: "json:event",
  idIsSigned: true,
  dataField: "payload",
  keptHeaders: ["content-type", "x-zm-trackingid"],
  handshake: proveToken,
  answer: { status: 200 },
  samples,
});

function proveToken(...[{ read }, prove]: Parameters<AnswerChallenge>) {
  if (read("json:event") !== "endpoint.url_validation") return undefined;
  const plainToken = read("json:payload.plainToken") ?? "";
  const encryptedToken = prove(plainToken);
  return encryptedToken === undefined ? undefined : { body: { plainToken, encryptedToken } };
}
