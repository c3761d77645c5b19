import type { ErrorCode, Refusal } from "@millrace/core";

/** A refusal with its reason; the message goes over the wire, so it holds nothing secret. */
export function refuse(code: ErrorCode, message: string): Refusal {
  return { ok: false, code, message };
}
