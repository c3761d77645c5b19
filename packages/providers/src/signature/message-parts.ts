import type { Delivery, Refusal } from "@millrace/core";
import { headerOf, isHeaderText } from "../headers.ts";
import { readDelivery } from "../identity/delivery-reader.ts";
import { refuse } from "../refuse.ts";
import type { MessageParts, MessageTemplate } from "./message-template.ts";
import type { WrittenSignature } from "./signature-format.ts";
import { readTimestamp, type TimestampUnit } from "./timestamp.ts";

/**
 * Where the signed time stands: in a header of its own, in the JSON body (a path), or beside the signature (neither).
 */
export interface TimestampRule {
  readonly header?: string;
  readonly json?: readonly string[];
  readonly unit: TimestampUnit;
}

/** What the message is made of, as it came, and the time in it where it is no part of the body. */
export type ReadParts = MessageParts & { readonly tsMs: number };

/** Finds what the message is made of, or says why it cannot be made. */
export function readParts(
  delivery: Delivery,
  written: WrittenSignature,
  rules: {
    readonly idHeader?: string | undefined;
    readonly timestamp?: TimestampRule | undefined;
  },
  template: MessageTemplate,
): ReadParts | Refusal {
  const ts = readTs(delivery, written, rules.timestamp);
  if ("code" in ts) return ts;
  const id = template.usesId ? headerOf(delivery, rules.idHeader ?? "") : "";
  if (id === undefined || (template.usesId && id === "")) {
    return badId(`the header ${rules.idHeader} is missing`);
  }
  // "a.b" with the time 1 signs the same bytes as "a" with the time "b.1".
  if (template.usesId && !(template.isBounded(id) && isHeaderText(id))) {
    return badId("it holds a character that no id of this sender may hold");
  }
  return { id, ts: ts.text, tsMs: ts.ms, body: delivery.body };
}

/** When a verified delivery was signed, milliseconds since the epoch; undefined where nothing says. */
export function readSignedAt(
  delivery: Delivery,
  parts: ReadParts,
  rule: TimestampRule | undefined,
): number | undefined | Refusal {
  if (rule?.json === undefined) return rule === undefined ? undefined : parts.tsMs;
  const found = readDelivery(delivery).json(rule.json);
  if (typeof found === "string") return badTimestamp("it is missing, or no number");
  return readTimestamp(found.text, rule.unit) ?? badTimestamp(NOT_WHOLE);
}

function readTs(
  delivery: Delivery,
  written: WrittenSignature,
  rule: TimestampRule | undefined,
): { readonly text: string; readonly ms: number } | Refusal {
  // A body is read when its signature is known to be good.
  if (rule === undefined || rule.json !== undefined) return { text: "", ms: 0 };
  const found = rule.header === undefined ? written.timestamps : [headerOf(delivery, rule.header)];
  const [text] = found;
  if (text === undefined || text === "") return badTimestamp("it is missing");
  if (found.length > 1) return badTimestamp("it is there more than once");
  const ms = readTimestamp(text, rule.unit);
  return ms === undefined ? badTimestamp(NOT_WHOLE) : { text, ms };
}

const NOT_WHOLE = "it is not a whole number of its unit";

export const badSignature = (state: string): Refusal =>
  refuse("invalid_signature", `Cannot verify the delivery: ${state}`);
const badTimestamp = (state: string): Refusal =>
  refuse("invalid_timestamp", `Cannot read the signed timestamp: ${state}`);
const badId = (state: string): Refusal =>
  refuse("invalid_event_id", `Cannot read the event id: ${state}`);
