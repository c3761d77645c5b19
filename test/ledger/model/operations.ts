import { isMillraceError, type EventKey } from "@millrace/core";
import { sql } from "drizzle-orm";
import { aJob, anEvent, withoutBody } from "../../support/events.ts";
import { failure, patient } from "../../support/ledger-fixture.ts";
import * as model from "./event-model.ts";
import type { ModelRows, Step } from "./event-model.ts";
import type { Cut, RealLedger } from "./real-ledger.ts";

interface Claim {
  readonly id: string;
  readonly generation: number;
  readonly attempt: number;
}

/** What the model knows: the rows, and the attempts that workers believe to be theirs. */
export interface World {
  rows: ModelRows;
  claims: readonly Claim[];
}

/** The real side of a run: events with a prefix of their own, and what was struck so far. */
export interface Side {
  readonly real: RealLedger;
  readonly prefix: string;
  readonly struck: Record<Cut | "killed", number>;
}

/** Of an operation: what the model says, and what the ledger is asked. */
export interface Operation {
  readonly title: string;
  readonly when?: (world: World) => boolean;
  readonly step: (world: World) => Step;
  readonly act: (world: World, side: Side) => Promise<unknown>;
  readonly taken?: (world: World, answer: unknown) => void;
}

const keyIn = ({ prefix }: Side, id: string, generation: number): EventKey => ({
  ...{ source: "shop", eventId: `${prefix}${id}`, generation },
});
const latest = (rows: ModelRows, id: string) => Math.max(0, model.latestOf(rows, id));

const onLatest = (
  title: string,
  id: string,
  step: (rows: ModelRows, key: string) => Step,
  act: (key: EventKey, side: Side) => Promise<unknown>,
): Operation => ({
  title: `${title} ${id}`,
  step: ({ rows }) => step(rows, model.keyOf(id, latest(rows, id))),
  act: ({ rows }, side) => act(keyIn(side, id, latest(rows, id)), side),
});

const onClaim = (
  title: string,
  n: number,
  step: (rows: ModelRows, key: string, attempt: number) => Step,
  act: (key: EventKey, attempt: number, side: Side) => Promise<unknown>,
): Operation => {
  const pick = (claims: World["claims"]) => {
    const claim = claims[n % claims.length];
    if (claim === undefined) throw new Error("Cannot pick a claim: there is none");
    return claim;
  };
  return {
    title: `${title} ${n}`,
    when: ({ claims }) => claims.length > 0,
    step: ({ rows, claims }) => {
      const { id, generation, attempt } = pick(claims);
      return step(rows, model.keyOf(id, generation), attempt);
    },
    act: ({ claims }, side) => {
      const { id, generation, attempt } = pick(claims);
      return act(keyIn(side, id, generation), attempt, side);
    },
  };
};

export const operations = {
  accept: (id: string): Operation => ({
    title: `accept ${id}`,
    step: ({ rows }) => model.accept(rows, id),
    act: async (_, { real, prefix }) =>
      (await real.ledger.intake.accept([anEvent({ eventId: `${prefix}${id}` })]))[0],
  }),
  record: (id: string, run: string): Operation => ({
    ...onLatest(
      `record in ${run}`,
      id,
      (rows, key) => model.record(rows, key, run),
      async (key, { real }) => {
        const event = anEvent(key);
        const job = aJob(key.generation === 0 ? event : withoutBody(event), run);
        return (await real.ledger.claims.record([job]))[0];
      },
    ),
    taken: (world, answer) => {
      const { kind, attempt } = answer as { kind: string; attempt: number };
      if (kind !== "claimed") return;
      world.claims = [...world.claims, { id, generation: latest(world.rows, id), attempt }];
    },
  }),
  attempt: (n: number, how: "completes" | "throws" | "is killed"): Operation =>
    onClaim(
      `${how}: attempt`,
      n,
      (rows, key, attempt) => {
        const step = model.complete(rows, key, attempt);
        if (how === "completes" || step.answer === "lost") return step;
        return { answer: { error: how === "throws" ? THROWN : "database_unavailable" } };
      },
      (key, attempt, side) => runAttempt(key, attempt, side, how),
    ),
  fail: (n: number, { waits, ...how }: Omit<model.Failure, "attempt">): Operation =>
    onClaim(
      `fail ${JSON.stringify({ waits, ...how })} attempt`,
      n,
      (rows, key, attempt) => model.fail(rows, key, { ...how, waits, attempt }),
      (key, attempt, { real }) => {
        const failed = { ...failure, ...how, ...(waits ? { code: "retry_later" as const } : {}) };
        return real.ledger.claims.fail(key, attempt, failed);
      },
    ),
  abandonEvent: (id: string, run: string): Operation =>
    onLatest(
      `give up in ${run}`,
      id,
      (rows, key) => model.abandonEvent(rows, key, run),
      (key, { real }) =>
        real.ledger.claims.abandonEvent(key, { code: "gave_up", message: "stalled", run }),
    ),
  retry: (id: string): Operation =>
    onLatest(
      "retry",
      id,
      model.retry,
      async (key, { real }) => (await real.ledger.retries.retryMany([key]))[0],
    ),
  replay: (id: string): Operation =>
    onLatest(
      "replay",
      id,
      (rows) => model.replay(rows, id),
      async ({ source, eventId }, { real }) =>
        (await real.ledger.retries.replay([{ source, eventId }]))[0],
    ),
  markEnqueued: (id: string): Operation =>
    onLatest("mark as enqueued", id, model.markEnqueued, (key, { real }) =>
      real.ledger.intake.markEnqueued([key]),
    ),
};

/** Every worker dies between two steps: nobody settles the attempts that they had. */
export const workersDie: Operation = {
  title: "all workers die",
  step: () => ({ answer: undefined }),
  act: () => Promise.resolve(),
  taken: (world) => (world.claims = []),
};

const THROWN = new Error("the handler threw");

async function runAttempt(
  key: EventKey,
  attempt: number,
  { real, struck }: Side,
  how: string,
): Promise<unknown> {
  const running = real.ledger.claims.attempt(
    key,
    attempt,
    async (tx) => {
      await tx.execute(sql`insert into model_effects values (${key.eventId}, ${key.generation})`);
      if (how === "throws") throw THROWN;
      if (how === "is killed") {
        const { rows } = await tx.execute(sql`select pg_backend_pid() as pid`);
        await real.terminate(Number(rows[0]?.["pid"]));
        struck.killed += 1;
      }
      return "handled";
    },
    patient(),
  );
  return await running.catch((error: unknown) => {
    throw how === "is killed" && isMillraceError(error) ? error.code : error;
  });
}
