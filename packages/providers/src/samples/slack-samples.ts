import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function callback(request: SampleRequest, event: Record<string, unknown>): unknown {
  return {
    token: digitsOf(request.eventId, "token", 24),
    team_id: "T0MILLRACE",
    api_app_id: "A0MILLRACE",
    event: { type: request.type, event_ts: timeOf(request), ...event },
    type: "event_callback",
    event_id: request.eventId,
    event_time: Math.floor(request.nowMs / 1_000),
    authorizations: [{ team_id: "T0MILLRACE", user_id: "U0BOT", is_bot: true }],
  };
}

function timeOf({ nowMs }: SampleRequest): string {
  return `${(nowMs / 1_000).toFixed(3)}100`;
}

function message(request: SampleRequest): unknown {
  const text = `The build ${digitsOf(request.eventId, "build", 6)} is green`;
  return callback(request, { channel: "C0GENERAL", user: "U0ADA", text, ts: timeOf(request) });
}

export const slackSamples = defineSamples(
  {
    message,
    app_mention: message,
    reaction_added: (request) =>
      callback(request, {
        user: "U0ADA",
        reaction: "thumbsup",
        item: { type: "message", channel: "C0GENERAL", ts: timeOf(request) },
      }),
    team_join: (request) => callback(request, { user: { id: "U0GRACE", name: "grace" } }),
  },
  (request) => callback(request, {}),
);
