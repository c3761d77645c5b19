import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function event(request: SampleRequest, more: Record<string, unknown> = {}): unknown {
  const messageId = digitsOf(request.eventId, "message", 22);
  return {
    email: "ada@example.com",
    timestamp: Math.floor(request.nowMs / 1_000),
    "smtp-id": `<${messageId}@example.com>`,
    event: request.type,
    category: ["receipts"],
    sg_event_id: request.eventId,
    sg_message_id: `${messageId}.filter0001.16648.5515E0B88.0`,
    ...more,
  };
}

/** SendGrid always sends an array, here of one. */
const batch = (more?: Record<string, unknown>) => (request: SampleRequest) => [
  event(request, more),
];

export const sendgridSamples = defineSamples(
  {
    delivered: batch({ response: "250 OK" }),
    processed: batch(),
    open: batch({ useragent: "Mozilla/5.0", ip: "192.0.2.1" }),
    click: batch({ url: "https://example.com/", useragent: "Mozilla/5.0", ip: "192.0.2.1" }),
    bounce: batch({ reason: "500 unknown recipient", status: "5.0.0", type: "bounce" }),
  },
  batch(),
  // As SendGrid writes them: with a line's end behind, which is signed too.
  (value) => `${JSON.stringify(value)}\r\n`,
);
