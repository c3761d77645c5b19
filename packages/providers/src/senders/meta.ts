import { type Delivery, type Refusal, jsonPieces } from "@millrace/core";
import { echo, noChallenge, refuse } from "../answers.ts";
import { defineProvider } from "../define-provider.ts";
import {
  digest,
  joined,
  locate,
  readDelivery,
  type DeliveryReader,
  type Found,
} from "../identity/locations.ts";
import samples from "../samples/meta.json" with { type: "json" };
import { isSameText } from "../signature/signature-algorithm.ts";
import { signature } from "../signature/signature.ts";

/**
 * Events of Meta's Graph API webhooks (Facebook, Instagram, Messenger, WhatsApp). A new URL is
 * asked for its challenge by a GET with the verify token, which stands in front of the app's
 * secret: `token:secret`. Each update of a delivery is an event, without an id: it is the SHA-256
 * of the update with object and account, and where it is a change with the time of its entry, so
 * that two equal changes are two.
 */
export const meta = defineProvider({
  name: "meta",
  verify: signature({ header: "x-hub-signature-256", prefix: "sha256=" }),
  secretHasKey: true,
  each: metaUpdates,
  id: [
    digest("json:entry.0.messaging.0", "json:object", "json:entry.0.id"),
    digest("json:entry.0.standby.0", "json:object", "json:entry.0.id"),
    digest("json:"),
  ],
  type: ["{json:object}.{json:entry.0.changes.0.field}", kindOfMessaging, "json:object"],
  typeIsOptional: true,
  idIsSigned: true,
  repeatsDays: 7,
  bodyBytesMax: 3 * 1024 * 1024,
  keptHeaders: ["content-type"],
  challenge: {
    method: "GET",
    answer: ({ read }, _prove, tokens) => {
      const token = read("query:hub.verify_token") ?? "";
      if (!tokens.some((one) => isSameText(token, one))) return undefined;
      const isSubscription = read("query:hub.mode") === "subscribe";
      return (isSubscription ? echo(read("query:hub.challenge")) : undefined) ?? noChallenge();
    },
  },
  answer: { status: 200 },
  samples,
});

const OBJECT = locate("json:object");

/** The object, and the kind of a conversation's update: `message`, `read`, `postback`. */
function kindOfMessaging(reader: DeliveryReader): Found {
  for (const list of ["messaging", "standby"]) {
    const kind = reader
      .jsonNames(["entry", "0", list, "0"])
      .find((name) => !["sender", "recipient", "timestamp"].includes(name));
    if (kind !== undefined) return joined(".", OBJECT, () => ({ text: kind }))(reader);
  }
  return "missing";
}

// The most that Meta documents in one delivery. Each update gets a copy of what stands round it, so
// more of them, or more round it, could make a body thousands of times as large.
const UPDATES_MAX = 1_000;
const ENVELOPE_BYTES_MAX = 4_096;

/** The lists of an entry whose items are updates. */
const LISTS = new Set(["changes", "messaging", "standby"]);

// The updates of a delivery of Meta's, each in the envelope that it came in with nothing else in
// it: `{"object":...,"entry":[{"id":...,"time":...,"changes":[<update>]}]}`. Values keep the bytes
// that came. An entry without updates in a list, and a body of another shape or of another size, is
// one.
function metaUpdates(delivery: Delivery): readonly Uint8Array[] | Refusal {
  const body = readDelivery(delivery).jsonBytes([]);
  if (typeof body === "string") {
    return refuse("invalid_body", "Cannot read the body: it is not JSON");
  }
  const members = membersOf(body);
  const envelope = members.filter(([name]) => name !== "entry");
  const entries = members.flatMap(([name, bytes]) => (name === "entry" ? jsonPieces(bytes) : []));
  const updates = entries.flatMap(({ bytes }) => updatesOf(bytes));
  const isUsual =
    updates.length > 0 &&
    updates.length <= UPDATES_MAX &&
    updates.every(({ beside }) => bytesOf([...envelope, ...beside]) <= ENVELOPE_BYTES_MAX);
  if (!isUsual) return [delivery.body];
  return updates.map(({ entry }) => objectOf([...envelope, ["entry", arrayOf(entry())]]));
}

type Member = readonly [name: string, bytes: Uint8Array];

/** The rest of an update's entry, and the entry with this update alone. */
interface Update {
  readonly beside: readonly Member[];
  readonly entry: () => Uint8Array;
}

function updatesOf(entry: Uint8Array): readonly Update[] {
  const members = membersOf(entry);
  const beside = members.filter(([name]) => !LISTS.has(name));
  const updates = members
    .filter(([name]) => LISTS.has(name))
    .flatMap(([list, items]) =>
      jsonPieces(items).map(({ bytes }) => ({
        beside,
        entry: () => objectOf([...beside, [list, arrayOf(bytes)]]),
      })),
    );
  return updates.length === 0 ? [{ beside: [], entry: () => entry }] : updates;
}

function bytesOf(members: readonly Member[]): number {
  return members.reduce((sum, [name, bytes]) => sum + Buffer.byteLength(name) + bytes.length, 0);
}

/** The last of each name, as JSON.parse has it. */
function membersOf(object: Uint8Array): readonly Member[] {
  return [...new Map(jsonPieces(object).map(({ name = "", bytes }) => [name, bytes]))];
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
