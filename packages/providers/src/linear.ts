import { defineProvider } from "./define-provider.ts";
import samples from "./samples/linear.json" with { type: "json" };
import { signature } from "./signature/signature.ts";

/**
 * Events of Linear: the signed time is `webhookTimestamp` in the body; the header of that name is
 * signed by nobody. The delivery's id stands in a header too. Identity: `Linear-Delivery`; type:
 * the body's `type` and `action`, `Issue.create`.
 *
 * Source: https://linear.app/developers/webhooks and @linear/sdk's webhooks client (60 seconds, 5
 * MiB).
 */
export const linear = defineProvider({
  name: "linear",
  idPrefix: "uuid",
  verify: signature({
    header: "linear-signature",
    time: { json: "webhookTimestamp", unit: "ms" },
    toleranceMs: 60_000,
  }),
  id: "header:linear-delivery",
  type: ["{json:type}.{json:action}", "json:type"],
  attemptFields: ["webhookTimestamp"],
  repeatsDays: 1,
  dataField: "data",
  bodyBytesMax: 5 * 1024 * 1024,
  keptHeaders: ["content-type", "linear-delivery", "linear-event"],
  answer: { status: 200 },
  samples,
  sampleHeaders: ({ type }) => ({ "linear-event": type.split(".")[0] ?? type }),
});
