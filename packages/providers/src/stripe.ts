import { defineProvider } from "./define-provider.ts";
import samples from "./samples/stripe.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { STRIPE_TYPES } from "./types/stripe-types.ts";

/**
 * Events of Stripe: HMAC with the whole endpoint secret as text. Stripe's own SDK takes any time in
 * the future; here the tolerance is both ways. Identity: the event's `id`; type: its `type`.
 *
 * Source: https://docs.stripe.com/webhooks and stripe-node's Webhooks.js.
 */
export const stripe = defineProvider({
  name: "stripe",
  verify: signature({
    header: "stripe-signature",
    pairs: { separator: ",", signature: "v1", time: "t" },
    message: "{ts}.{body}",
    time: {},
  }),
  id: "json:id",
  type: "json:type",
  idIsSigned: true,
  repeatsDays: 3,
  secretPrefix: "whsec_",
  types: STRIPE_TYPES,
  dataField: "data",
  keptHeaders: [],
  samples,
});
