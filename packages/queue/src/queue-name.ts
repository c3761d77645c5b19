const PREFIX = "millrace-";

/** The BullMQ queue of a source. */
export function queueName(source: string): string {
  return `${PREFIX}${source}`;
}
