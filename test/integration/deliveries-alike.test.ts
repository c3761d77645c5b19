import { readFileSync } from "node:fs";
import { secretVariable, type SourceDefinition } from "@millrace/core";
import * as millrace from "millrace";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { startStack } from "../support/pipeline.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";

interface Delivery {
  readonly id?: string;
  readonly type?: string;
  /** The text "now" in it becomes the time at which it is sent, in milliseconds. */
  readonly body?: object;
  readonly form?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Pair {
  readonly source: string;
  readonly case: string;
  readonly deliveries: readonly [Delivery, Delivery];
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const PAIRS = JSON.parse(read("deliveries-alike.json")) as readonly Pair[];
const PART = /^## Deliveries that look alike$([^]*?)^## /m;
const ROW = /^(?<end>\S.*):$|^- `(?<source>\w+)\(\)`: (?<title>.+(?:\n {2}.+)*)$/gm;

const URL_OPTION = { url: "https://a.example/webhooks/a" };
const OPTIONS: Readonly<Record<string, object>> = {
  ...{ hubspot: URL_OPTION, square: URL_OPTION, twilio: URL_OPTION },
  meta: {},
};
// Each pair has a source of its own.
const CASES = PAIRS.map((pair, n) => {
  const make = Reflect.get(millrace, pair.source) as (options?: object) => SourceDefinition;
  const { provider } = make(
    pair.case.includes('auth: "token"') ? { auth: "token" } : OPTIONS[pair.source],
  );
  return { ...pair, name: `s${n}`, provider, secret: provider.generateSecret() };
});
type Case = (typeof CASES)[number];

onOneBackend("deliveries that look alike", (prepare) => {
  const stack = openForAll(() => {
    const config = {
      sources: Object.fromEntries(CASES.map(({ name, provider }) => [name, { provider }])),
      handlers: [millrace.on("*", "*", () => {})],
    };
    const env = CASES.map(({ name, secret }) => [secretVariable(name), secret]);
    return startStack(prepare, { config, env: Object.fromEntries(env) });
  });

  async function send({ name, provider, secret }: Case, delivery: Delivery) {
    const { id = "alike-1", type = provider.sampleTypes[0] ?? "", body, form, headers } = delivery;
    const request = { eventId: id, type, nowMs: Date.now() };
    const text = body && JSON.stringify(body).replace('"now"', String(request.nowMs));
    const bytes = Buffer.from(form ?? text ?? provider.sample({ ...request, nowMs: 0 }));
    const signed = provider.sign({ ...request, body: bytes, secret });
    const { status } = await fetch(`${stack.ingress.url}/webhooks/${name}`, {
      ...{ method: "POST", body: bytes, headers: { ...signed, ...headers } },
    });
    expect(status).toBeLessThan(300);
  }

  async function seen(name: string) {
    const {
      rows: [row],
    } = await stack.pipeline.database.query<{
      events: readonly { readonly status: string; readonly code: string | null }[];
      repeats: number;
      conflicts: number;
    }>(
      `select coalesce((select jsonb_agg(jsonb_build_object('status', status, 'code', last_error_code)
           order by recorded_at) from webhook_events where source = $1), '[]') as events,
         (select count(*) from millrace.deliveries where source = $1)::int as repeats,
         (select count(*) from millrace.conflicts where source = $1)::int as conflicts`,
      [name],
    );
    if (row === undefined) throw new Error("The query has no row");
    return row;
  }

  async function played(of: Case): Promise<string> {
    const [one, other] = of.deliveries;
    const untilSettled = (count: number) =>
      until(async () => {
        const { events, repeats, conflicts } = await seen(of.name);
        const areSettled = events.every(({ status }) => status !== "pending");
        const isOver = areSettled && (events.length === count || repeats > 0);
        return isOver && { events, conflicts };
      });
    await send(of, one);
    await untilSettled(1);
    await send(of, other);
    const { events, conflicts } = await untilSettled(2);
    const [first, second] = events;
    expect(first).toEqual({ status: "completed", code: null });
    if (second?.code) return `The second fails as \`${second.code}\`, and runs when you retry it`;
    if (second) return "Both events run";
    if (conflicts === 0) return "One runs";
    return "The first runs, and the other body is kept";
  }

  test("the page says how each pair ends", async () => {
    const page = new Map<string, string | undefined>();
    const [, part = ""] = PART.exec(read("../../docs/duplicates.md")) ?? [];
    let end: string | undefined;
    for (const { groups = {} } of part.matchAll(ROW)) {
      end = groups.end ?? end;
      if (groups.source) page.set(`${groups.source}: ${groups.title?.replace(/\s+/g, " ")}`, end);
    }
    const found = await Promise.all(
      CASES.map(async (of) => [`${of.source}: ${of.case}`, await played(of)] as const),
    );
    expect(page).toEqual(new Map(found));
  });
});
