import { on, type Handler, type HandlerContext } from "@millrace/core";
import { drizzle } from "drizzle-orm/node-postgres";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { LineWriter } from "../../packages/processor/src/handler/handler-log.ts";
import { makeJob, useProcessors } from "./processor-fixture.ts";

const SECRETS: Readonly<Record<string, readonly [written: string, secret: string]>> = {
  "an API key": ["sk_live_51H8zQkWb0Canary7", "51H8zQkWb0Canary7"],
  "a bearer token": ["Authorization: Bearer cAnarY.9f8e7d6c5b4a", "cAnarY.9f8e7d6c5b4a"],
  "a token of another scheme": ["authorization: ApiKey canary-9f8e7d6c", "canary-9f8e7d6c"],
  "the password of a database": ["postgres://app:canaryPass9@db:5432/app", "canaryPass9"],
  "a password with @ in it": ["redis://:canary@Pass9@cache:6379", "Pass9"],
  "a webhook secret": ["whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5", "Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5"],
  "a member of JSON": ['{"user":"kim","password":"canary horse"}', "canary horse"],
  "a member of JSON in JSON": ['{\\"clientSecret\\":\\"canary9f8e\\"}', "canary9f8e"],
  "a list of JSON": ['"x-api-key":["canary9f8e7d"]', "canary9f8e7d"],
  "a name with a capital": ["accessToken: canary9f8e7d6c", "canary9f8e7d6c"],
  "a variable": ["PGPASSWORD=canary9f8e7d6c", "canary9f8e7d6c"],
  "the second cookie": ["Cookie: theme=dark; session=canary9f8e7d6c", "canary9f8e7d6c"],
  "a webhook secret that looks like a word": ["a-canary-secret", "a-canary-secret"],
  "a password with nothing before it": ["canaryWord9", "canaryWord9"],
};

type Place = (text: string, context: HandlerContext) => unknown;
const PLACES: Readonly<Record<string, Place>> = {
  message: (text) => {
    throw new Error(`Refused: ${text}`);
  },
  "a message of several lines": (text) => {
    throw new Error(`Refused:\n    at ${text} (/srv/app/x.ts:1:1)\n    at ${text}`);
  },
  "a message that was changed later": (text) => {
    const error = new Error(`Refused:\n    at ${text}\n    at ship (${text}:1:1)`);
    error.message = "Refused";
    throw error;
  },
  cause: (text) => {
    throw new Error("No", { cause: new TypeError("Not", { cause: new Error(text) }) });
  },
  "several errors": (text) => {
    throw new AggregateError([new Error(text)]);
  },
  "a text that is thrown": (text) => {
    // oxlint-disable-next-line no-throw-literal, only-throw-error -- handlers do
    throw text;
  },
  "the end of what is kept of a message": (text) => {
    throw new Error(`${"x ".repeat((8_192 - 24 - text.length) / 2)}${text}${" y".repeat(20)}`);
  },
  "a long message, half of it": (text) => {
    throw new Error(`${"x".repeat(8_192 - 8 - text.length / 2)} ${text} ${"y".repeat(90)}`);
  },
  "a parameter of a query": async (text, { tx }) => {
    await tx.execute(sql`select ${text}::int`);
  },
  "a query": async (text, { tx }) => {
    await tx.execute(sql.raw(`select no_such_column, '${text.replaceAll("'", "''")}'`));
  },
  "a line": (text, { log }) => {
    log.info(`calling with ${text}`);
    throw new Error("No");
  },
  "the end of a long line": (text, { log }) => {
    log.info(`${"x".repeat(990 - text.length / 2)} ${text}`);
    log.info(`${"x".repeat(3_990 - text.length / 2)} ${text}`);
    throw new Error("No");
  },
  "a field of a line": (text, { log }) => {
    log.warn({ request: { headers: [text], text } }, "calling");
    throw new Error("No");
  },
  "an error in a line": (text, { log }) => {
    log.error({ err: new Error(`no: ${text}`, { cause: new Error(text) }) }, "called");
    log.error(new Error(text), text);
    throw new Error("No");
  },
};

const OF_ENVIRONMENT = ["a-canary-secret", "canaryWord9"];

const LOG: LineWriter = {
  isLevelEnabled: () => true,
  ...{ debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
};

const processors = useProcessors();

async function keptOf(eventId: string): Promise<string> {
  const tables = ["events", "attempts", "error_counts"];
  const own = tables.map(
    (table) => `select t::text as row from millrace.${table} t where event_id = $1`,
  );
  const groups = `select e::text from millrace.errors e
    where fingerprint in (select fingerprint from millrace.events where event_id = $1)`;
  const kept = await processors.ask<{ row: string }>([...own, groups].join(" union all "), [
    eventId,
  ]);
  expect(kept).toHaveLength(4);
  return kept.map(({ row }) => row).join("\n");
}

async function fail(handler: Handler) {
  const secrets = OF_ENVIRONMENT;
  const processor = processors.create([handler], { openLog: () => LOG, secrets });
  const job = makeJob();
  const result = await processor.process(job);
  return { result, notices: processor.notices, eventId: job.event.eventId };
}

test.each(Object.entries(PLACES))("No secret is kept that was in %s", async (_place, act) => {
  const leaked: string[] = [];
  for (const [kind, [written, secret]] of Object.entries(SECRETS)) {
    const { result, notices, eventId } = await fail(
      on("shop", "*", async (_event, context) => {
        await act(written, context);
      }),
    );
    expect(result).toMatchObject({ kind: "retry", recorded: true });
    const row = await processors.row(eventId);
    expect(row?.last_error).toBeTruthy();
    const all = `${await keptOf(eventId)}\n${JSON.stringify([result, notices])}`;
    if (all.includes(secret)) leaked.push(`${kind}: ${lineWith(all, secret)}`);
  }
  expect(leaked).toEqual([]);
});

test("Neither the text of a failed query nor its parameters are kept, logged or not", async () => {
  const { notices, eventId } = await fail(
    on("shop", "*", async (_event, { tx, log }) => {
      try {
        const saved = drizzle({ client: processors.pool }).execute(
          sql`insert into no_such_table values (${"canary@example.com"}, 'canary-text')`,
        );
        await saved;
      } catch (error) {
        log.error(error as Error, "cannot save");
        log.error({ err: error, note: "cannot save" });
        log.warn(`cannot save: ${String(error)}`);
      }
      await tx.execute(
        sql`insert into no_such_table values (${"canary@example.com"}, 'canary-text')`,
      );
    }),
  );
  const all = `${await keptOf(eventId)}\n${JSON.stringify(notices)}`;
  expect(all).toContain("no_such_table");
  expect(all).not.toMatch(/canary@|canary-text/);
});

const lineWith = (text: string, part: string) => {
  const at = text.indexOf(part);
  return text.slice(Math.max(0, at - 60), at + part.length + 20);
};
