import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

const APPLICATION_ID = "1234567890123456789";

function interaction(request: SampleRequest, type: number, data: unknown): unknown {
  return {
    application_id: APPLICATION_ID,
    channel_id: "645027906669510667",
    data,
    guild_id: "290926798626357999",
    id: request.eventId,
    locale: "en-GB",
    member: { user: { id: "53908232506183680", username: "ada" }, permissions: "0" },
    token: digitsOf(request.eventId, "token", 40),
    type,
    version: 1,
  };
}

/** A webhook event, which has no id: what is in it makes it another. */
function webhookEvent(request: SampleRequest, data: Record<string, unknown>): unknown {
  return {
    version: 1,
    application_id: APPLICATION_ID,
    type: 1,
    event: {
      type: request.type,
      timestamp: new Date(request.nowMs).toISOString(),
      data: { ...data, id: digitsOf(request.eventId, "data", 18) },
    },
  };
}

const user = { id: "53908232506183680", username: "ada" };

export const discordSamples = defineSamples(
  {
    APPLICATION_COMMAND: (request) =>
      interaction(request, 2, { id: "771825006014889984", name: "mill", type: 1 }),
    MESSAGE_COMPONENT: (request) =>
      interaction(request, 3, { custom_id: "open", component_type: 2 }),
    MODAL_SUBMIT: (request) => interaction(request, 5, { custom_id: "form", components: [] }),
    APPLICATION_AUTHORIZED: (request) =>
      webhookEvent(request, { integration_type: 1, scopes: ["applications.commands"], user }),
    ENTITLEMENT_CREATE: (request) => webhookEvent(request, { sku_id: "1", user_id: user.id }),
  },
  (request) => webhookEvent(request, {}),
);
