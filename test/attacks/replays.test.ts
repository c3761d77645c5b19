import { randomBytes, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseConfig } from "@millrace/core";
import { expect, test } from "vitest";
import exported from "../fixtures/replays/millrace.config.ts";
import { age } from "../support/aged-events.ts";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/replays/millrace.config.ts", import.meta.url));
const SECRET = "0123456789abcdef0123456789abcdef";
type Source = "github" | "safe" | "mirror" | "shopify" | "gitlab" | "twilio";

interface Captured {
  readonly source: Source;
  readonly eventId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function capture(source: Source, type: string, bodyBytes = 0): Captured {
  const { provider } = parseConfig(exported).sources[source] ?? {};
  if (provider === undefined) throw new Error(source);
  const nowMs = Date.now();
  const eventId = randomUUID();
  const sample = provider.sample({ eventId: randomUUID(), type, nowMs });
  const body = Buffer.from(
    bodyBytes === 0 ? sample : JSON.stringify({ pad: randomBytes(bodyBytes / 2).toString("hex") }),
  );
  const headers = provider.sign({ eventId, type, nowMs, body, secret: SECRET });
  return { source, eventId: nameOf(source, eventId, headers), headers, body };
}

function nameOf(source: Source, eventId: string, headers: Captured["headers"]): string {
  if (source !== "shopify") return eventId;
  return `${headers["x-shopify-shop-domain"]}|${headers["x-shopify-topic"]}|${eventId}`;
}

const ID_HEADERS: Readonly<Record<Source, string>> = {
  github: "x-github-delivery",
  safe: "x-github-delivery",
  mirror: "x-github-delivery",
  shopify: "x-shopify-event-id",
  gitlab: "idempotency-key",
  twilio: "i-twilio-idempotency-token",
};

function again(captured: Captured, over: Readonly<Record<string, string>> = {}): Captured {
  const { source } = captured;
  const eventId = randomUUID();
  const headers = { ...captured.headers, ...over, [ID_HEADERS[source]]: eventId };
  return { ...captured, headers, eventId: nameOf(source, eventId, headers) };
}

const FORM = { Body: "Mill & co", From: "+15005550006", MessageSid: "SM1", MessageStatus: "sent" };

function encodings(unique: string): readonly string[] {
  const fields = Object.entries({ ...FORM, AccountSid: unique });
  const form = String(new URLSearchParams(fields));
  return [
    form,
    String(new URLSearchParams(fields.toReversed())),
    form.replaceAll("%2B", "%2b"),
    form.replaceAll("+", "%20"),
    form.replace("Mill", "%4Dill"),
    `${form}&`,
    form.replace("&", "&&"),
    `${form}&MessageSid=SM1`,
    form.replace("MessageSid=SM1", "MessageSi=dSM1"),
  ];
}

onOneBackend("a captured delivery", (prepare) => {
  const names = ["GITHUB", "SAFE", "MIRROR", "SHOPIFY", "GITLAB", "TWILIO"];
  const secrets = Object.fromEntries(names.map((name) => [`${name}_WEBHOOK_SECRET`, SECRET]));
  const env = { MILLRACE_CONFIG: CONFIG, ...secrets };
  const stack = openForAll(() => startStack(prepare, { env, config: exported }));

  async function deliver({ source, headers, body }: Captured): Promise<void> {
    const request = { method: "POST", headers: { ...headers }, body };
    // A store that misses its deadline on a busy machine is a 503, which senders repeat.
    await until(async () => {
      const response = await fetch(`${stack.ingress.url}/webhooks/${source}`, request);
      await response.arrayBuffer();
      if (response.status !== 503) expect(response.status).toBeLessThan(300);
      return response.ok;
    });
  }

  async function ended({ source, eventId }: Captured): Promise<string> {
    const text = `SELECT coalesce(outcome, last_error_code, status) AS "end" FROM millrace.events
      WHERE source = $1 AND event_id = $2 AND status <> 'pending'`;
    const { end } = await until(
      async () => (await stack.pipeline.database.query(text, [source, eventId])).rows[0],
      { what: `${source} ${eventId} settled` },
    );
    return end;
  }

  const statusOf = async ({ eventId }: Captured) =>
    (await eventOf(stack.pipeline.database, eventId))?.status;

  async function run(captured: Captured): Promise<string> {
    await deliver(captured);
    return await ended(captured);
  }

  async function effects(captured: readonly Captured[]): Promise<number> {
    const { rows } = await stack.pipeline.database.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM effects WHERE event_id = ANY($1)",
      [captured.map(({ eventId }) => eventId)],
    );
    return rows[0]?.n ?? -1;
  }

  const pathOf = ({ source, eventId }: Captured) =>
    `${stack.dashboard.url}/api/events/${source}/${encodeURIComponent(eventId)}`;

  interface Detail {
    readonly headers: Readonly<Record<string, string>>;
    readonly body_kept: boolean;
    readonly same_message: {
      readonly total: number;
      readonly events: readonly { readonly event_id: string }[];
    };
  }

  const shown = async (captured: Captured) =>
    (await (await fetch(pathOf(captured))).json()) as Detail;

  async function retry(captured: Captured): Promise<string> {
    const answer = await fetch(`${pathOf(captured)}/retry`, { method: "POST" });
    expect(answer.ok).toBe(true);
    return await ended(captured);
  }

  test("of Twilio runs once, in nine encodings of the form that was signed", async () => {
    for (const isAtOnce of [false, true]) {
      const [first = "", ...others] = encodings(randomUUID());
      const { provider } = parseConfig(exported).sources["twilio"] ?? {};
      const request = { eventId: "t", type: "message.sent", nowMs: Date.now(), secret: SECRET };
      const signed = provider?.sign({ ...request, body: Buffer.from(first) }) ?? {};
      const forms = [first, ...others].map((body) =>
        again({ source: "twilio", eventId: "", headers: signed, body: Buffer.from(body) }),
      );
      const ends: string[] = [];
      if (isAtOnce) ends.push(...(await Promise.all(forms.map(run))));
      else for (const form of forms) ends.push(await run(form));
      expect(ends.toSorted()).toEqual(["handled", ...Array<string>(8).fill("suspected_replay")]);
      expect(await effects(forms)).toBe(1);
    }
  });

  test.each<[Source, string]>([
    ["github", "push"],
    ["safe", "push"],
    ["shopify", "orders/create"],
    ["gitlab", "push"],
  ])("of %s does not run again two days later, until a person retries it", async (source, type) => {
    const first = capture(source, type);
    expect(await run(first)).toBe("handled");
    const sameDay = again(first);
    expect(await run(sameDay)).toBe("suspected_replay");
    for (const { eventId } of [first, sameDay]) await age(stack.pipeline.database, 2, eventId);
    const later = again(first);
    expect(await run(later)).toBe("suspected_replay");
    expect(await statusOf(later)).toBe("failed");
    // The sender's redelivery runs a failed event again, and anyone can make one of this.
    await deliver(later);
    await deliver(later);
    const next = again(first);
    expect(await run(next)).toBe("suspected_replay");
    expect(await statusOf(next)).toBe("failed");
    expect(await statusOf(later)).toBe("failed");
    expect(await effects([first, sameDay, later, next])).toBe(1);

    const { same_message: beside } = await shown(first);
    expect(beside.events.map(({ event_id }) => event_id)).toEqual(
      [sameDay, later, next].map(({ eventId }) => eventId),
    );
    expect((await shown(later)).same_message.events[0]).toMatchObject({ event_id: first.eventId });
    expect(await retry(later)).toBe("handled");
    expect(await effects([later])).toBe(1);
  });

  test("that is sent first as a ping does not swallow the genuine event", async () => {
    for (const source of ["github", "safe"] as const) {
      const genuine = capture(source, "push");
      const ping = again(genuine, { "x-github-event": "ping" });
      expect(await run(ping)).toBe("handled");
      expect(await run(genuine)).toBe("suspected_replay");
      expect(await statusOf(genuine)).toBe("failed");
      expect(await retry(genuine)).toBe("handled");
      expect(await effects([genuine])).toBe(1);
      expect((await shown(genuine)).headers).toMatchObject({ "x-github-event": "push" });
    }
  });

  test.each([
    [500_000, 200],
    // Small enough to wait in the queue; more than are listed.
    [20_000, 120],
  ])("of %i bytes under %i ids is stored once", async (bytes, count) => {
    const first = capture("github", "push", bytes);
    const copies = [first, ...Array.from({ length: count - 1 }, () => again(first))];
    const stored = () =>
      stack.pipeline.database.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM millrace.bodies WHERE octet_length(body) = $1",
        [first.body.byteLength],
      );
    const before = (await stored()).rows[0]?.n ?? -1;
    const waiting = copies.values();
    const send = async () => {
      for (const copy of waiting) await deliver(copy);
    };
    await Promise.all(Array.from({ length: 8 }, send));
    const ends = await Promise.all(copies.map(ended));
    expect(ends.filter((end) => end === "handled")).toHaveLength(1);
    expect(await effects(copies)).toBe(1);
    expect((await stored()).rows[0]?.n).toBe(before + 1);
    const detail = await shown(copies.at(-1) ?? first);
    expect(detail).toMatchObject({ body_kept: true, same_message: { total: count - 1 } });
    expect(detail.same_message.events).toHaveLength(Math.min(count - 1, 100));
  });

  test("that is retried by several people at once runs once, and so does each other copy", async () => {
    const push = capture("github", "push");
    expect(await run(push)).toBe("handled");
    const claims = ["release", "create", "delete"].map((type) =>
      again(push, { "x-github-event": type }),
    );
    expect(await Promise.all(claims.map(run))).toEqual(Array(3).fill("suspected_replay"));
    const retries = claims.flatMap((claim) => [claim, claim, claim]);
    const answers = await Promise.all(
      retries.map((claim) => fetch(`${pathOf(claim)}/retry`, { method: "POST" })),
    );
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(await Promise.all(claims.map(ended))).toEqual(Array(3).fill("handled"));
    expect(await effects(claims)).toBe(3);
  });

  test("runs under each id where bodyDedup is false", async () => {
    const first = capture("mirror", "push");
    expect(await run(first)).toBe("handled");
    expect(await run(again(first, { "x-github-event": "release" }))).toBe("handled");
  });
});
