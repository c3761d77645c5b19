/** An ISO instant as `datetime-local` takes it, in the browser's zone; empty for none. */
export function toLocal(instant: string | undefined): string {
  const ms = Date.parse(instant ?? "");
  if (Number.isNaN(ms)) return "";
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 19);
}

/** The value of a `datetime-local` as an ISO instant; empty for no value. */
export function fromLocal(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}
