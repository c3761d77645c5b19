import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

type Fields = Readonly<Record<string, string>>;

/** Two letters and 32 hexadecimal digits that follow from the event's id. */
function sid(prefix: string, { eventId }: SampleRequest): string {
  return prefix + digitsOf(eventId, prefix, 32);
}

const common: Fields = { AccountSid: `AC${"0".repeat(32)}`, ApiVersion: "2010-04-01" };
const numbers: Fields = { From: "+15005550006", To: "+14155552671" };

function message(request: SampleRequest): Fields {
  const status = request.type.slice("message.".length);
  return {
    ...common,
    ...numbers,
    MessageSid: sid("SM", request),
    SmsSid: sid("SM", request),
    SmsStatus: status,
    MessageStatus: status,
  };
}

function received(request: SampleRequest): Fields {
  return {
    ...common,
    ...numbers,
    MessageSid: sid("SM", request),
    SmsStatus: "received",
    NumMedia: "0",
    NumSegments: "1",
    Body: "Is the mill open & turning?",
  };
}

function call(request: SampleRequest): Fields {
  return {
    ...common,
    ...numbers,
    CallSid: sid("CA", request),
    CallStatus: request.type.slice("call.".length),
    CallDuration: "42",
    Direction: "inbound",
    Timestamp: new Date(request.nowMs).toUTCString(),
  };
}

export const twilioSamples = defineSamples<Fields>(
  {
    "message.delivered": message,
    "message.received": received,
    "message.failed": (request) => ({ ...message(request), ErrorCode: "30003" }),
    "call.completed": call,
    "recording.completed": (request) => ({
      ...common,
      CallSid: sid("CA", request),
      RecordingSid: sid("RE", request),
      RecordingStatus: "completed",
      RecordingDuration: "17",
    }),
  },
  // Conversations, TaskRouter and others name their event in a field.
  (request) => ({ ...common, EventType: request.type, ResourceSid: sid("RS", request) }),
  (fields) => new URLSearchParams(fields).toString(),
);
