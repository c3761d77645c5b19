import { type Delivery, type Refusal, jsonPieces, type JsonPiece } from "@millrace/core";
import { refuse } from "../answers.ts";
import { readDelivery } from "./delivery-reader.ts";

/**
 * The most that Meta documents in one delivery. Each update gets a copy of what stands round it, so
 * more of them, or more round it, could make a body thousands of times as large.
 */
const UPDATES_MAX = 1_000;
const ENVELOPE_BYTES_MAX = 4_096;

/** The lists of an entry whose items are updates. */
const LISTS = new Set(["changes", "messaging", "standby"]);

/**
 * The updates of a delivery of Meta's, each in the envelope that it came in with nothing else in
 * it: `{"object":...,"entry":[{"id":...,"time":...,"changes":[<update>]}]}`. Values keep the bytes
 * that came. An entry without updates in a list, and a body of another shape or of another size, is
 * one.
 */
export function metaUpdates(delivery: Delivery): readonly Uint8Array[] | Refusal {
  const body = readDelivery(delivery).jsonBytes([]);
  if (typeof body === "string") {
    return refuse("invalid_body", "Cannot read the body: it is not JSON");
  }
  const envelope = lastOfEach(jsonPieces(body));
  const entries = jsonPieces(envelope.get("entry") ?? Buffer.of());
  envelope.delete("entry");
  const updates = entries.flatMap(({ bytes }) => updatesOf(bytes));
  const isUsual =
    updates.length > 0 &&
    updates.length <= UPDATES_MAX &&
    updates.every(({ beside }) => bytesOf([...envelope, ...beside]) <= ENVELOPE_BYTES_MAX);
  if (!isUsual) return [delivery.body];
  return updates.map((update) => objectOf([...envelope, ["entry", arrayOf(entryOf(update))]]));
}

type Member = readonly [name: string, bytes: Uint8Array];

/** An item of one of an entry's lists with the rest of the entry, or an entry without lists. */
type Update =
  | { readonly beside: readonly Member[]; readonly list: string; readonly item: Uint8Array }
  | { readonly beside: readonly []; readonly entry: Uint8Array };

function updatesOf(entry: Uint8Array): Update[] {
  const members = [...lastOfEach(jsonPieces(entry))];
  const beside = members.filter(([name]) => !LISTS.has(name));
  const updates = members
    .filter(([name]) => LISTS.has(name))
    .flatMap(([list, items]) =>
      jsonPieces(items).map(({ bytes }) => ({ beside, list, item: bytes })),
    );
  return updates.length === 0 ? [{ beside: [], entry }] : updates;
}

function entryOf(update: Update): Uint8Array {
  if ("entry" in update) return update.entry;
  return objectOf([...update.beside, [update.list, arrayOf(update.item)]]);
}

function bytesOf(members: readonly Member[]): number {
  return members.reduce((sum, [name, bytes]) => sum + Buffer.byteLength(name) + bytes.length, 0);
}

function lastOfEach(pieces: readonly JsonPiece[]): Map<string, Uint8Array> {
  return new Map(pieces.map(({ name, bytes }) => [name ?? "", bytes]));
}

function objectOf(members: readonly Member[]): Buffer {
  const parts = members.flatMap(([name, bytes], index) => [
    Buffer.from(`${index === 0 ? "" : ","}${JSON.stringify(name)}:`),
    bytes,
  ]);
  return Buffer.concat([Buffer.from("{"), ...parts, Buffer.from("}")]);
}

function arrayOf(item: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from("["), item, Buffer.from("]")]);
}
