import { fromEnvelope, isMillraceError } from "@millrace/core";

/** The part of a job's data that bull-board shows: the event's key, never its body or headers. */
export function maskData(data: unknown): Record<string, unknown> {
  try {
    const event = fromEnvelope(data);
    return {
      source: event.source,
      id: event.eventId,
      type: event.type,
      generation: event.generation,
      accepted_at: new Date(event.acceptedAtMs).toISOString(),
      body_hash: event.bodyHash,
      unsigned: event.unsigned,
      body:
        event.body === undefined ? "in the ledger" : `${event.body.byteLength} bytes, not shown`,
    };
  } catch (error) {
    return { masked: isMillraceError(error) ? error.code : "invalid_envelope" };
  }
}

/** A job's name on the board: its event's type. What is not ours keeps its name to itself. */
export function maskName(job: unknown): string {
  const data = typeof job === "object" && job !== null && "data" in job ? job.data : undefined;
  const { type } = maskData(data);
  return typeof type === "string" ? type : "(not an event)";
}

/** Where the dashboard shows a job's event; nothing for a job that is not ours. */
export function eventUrl(data: unknown): { displayText: string; href: string } | undefined {
  const { source, id, generation } = maskData(data);
  if (typeof source !== "string") return undefined;
  const query = new URLSearchParams({ source, id: String(id), generation: String(generation) });
  return { displayText: "Event in the ledger", href: `/event?${query.toString()}` };
}

/** Results and progress: ours have none, and what others wrote there is not shown. */
export function maskValue(value: unknown): string | null {
  return value === undefined || value === null ? null : "(not shown)";
}
