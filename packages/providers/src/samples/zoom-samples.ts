import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function event(request: SampleRequest, object: Record<string, unknown>): unknown {
  return {
    event: request.type,
    event_ts: request.nowMs,
    payload: { account_id: "AAAAAABBBB", object },
  };
}

function meeting(request: SampleRequest): Record<string, unknown> {
  return {
    id: String(Number.parseInt(digitsOf(request.eventId, "meeting", 9), 16)),
    uuid: `${digitsOf(request.eventId, "uuid", 22)}==`,
    host_id: "x1yCzABCDEfg23HiJKl4mN",
    topic: "The mill",
    type: 2,
    start_time: new Date(request.nowMs).toISOString(),
    timezone: "Europe/Berlin",
    duration: 60,
  };
}

export const zoomSamples = defineSamples(
  {
    "meeting.started": (request) => event(request, meeting(request)),
    "meeting.ended": (request) => event(request, meeting(request)),
    "meeting.participant_joined": (request) =>
      event(request, {
        ...meeting(request),
        participant: { user_name: "Ada", participant_uuid: digitsOf(request.eventId, "who", 22) },
      }),
    "recording.completed": (request) =>
      event(request, { ...meeting(request), recording_count: 1, recording_files: [] }),
  },
  (request) => event(request, { id: digitsOf(request.eventId, "object", 22) }),
);
