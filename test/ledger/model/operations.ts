import { isMillraceError } from "@millrace/core";
import { sql } from "drizzle-orm";
import { aJob, withoutBody } from "../../support/events.ts";
import { failure, patient } from "../../support/ledger-fixture.ts";
import * as model from "./event-model.ts";
import type { ModelRows, Step } from "./event-model.ts";
import { eventOf, type Cut, type RealLedger } from "./real-ledger.ts";

/** What the model knows: the rows, and the attempts that workers believe to be theirs. */
export interface World {
  rows: ModelRows;
  claims: readonly { readonly id: string; readonly generation: number; readonly attempt: number }[];
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
  /** What an answer leaves in the hands of a worker. */
  readonly taken?: (world: World, answer: unknown) => void;
}

const SOURCE = "shop";

const keyIn = ({ prefix }: Side, id: string, generation: number) => ({
  source: SOURCE,
  eventId: `${prefix}${id}`,
  generation,
});

/** Every operation of the ledger that changes a row; on the latest generation of an id. */
export const operations = {
  accept: (id: string): Operation => ({
    title: `accept ${id}`,
    step: ({ rows }) => model.accept(rows, id),
    act: async (_, { real, prefix }) => (await real.ledger.intake.accept([eventOf(prefix, id)]))[0],
  }),
  record: (id: string, run: string): Operation => ({
    title: `record ${id} in ${run}`,
    step: ({ rows }) => model.record(rows, latestKey(rows, id), run),
    act: async ({ rows }, { real, prefix }) => {
      const generation = Math.max(0, model.latestOf(rows, id));
      const event = { ...eventOf(prefix, id), generation };
      const job = aJob(generation === 0 ? event : withoutBody(event), run);
      return (await real.ledger.claims.record([job]))[0];
    },
    taken: (world, answer) => {
      const { kind, attempt } = answer as { kind: string; attempt: number };
      if (kind !== "claimed") return;
      const generation = Math.max(0, model.latestOf(world.rows, id));
      world.claims = [...world.claims, { id, generation, attempt }];
    },
  }),
  attempt: (n: number, how: "completes" | "throws" | "is killed"): Operation => ({
    title: `attempt ${n} ${how}`,
    when: ({ claims }) => claims.length > 0,
    step: (world) => attemptStep(world, n, how),
    act: (world, side) => runAttempt(world, side, { n, how }),
  }),
  fail: (n: number, failed: Omit<model.Failure, "attempt">): Operation => ({
    title: `fail attempt ${n} ${JSON.stringify(failed)}`,
    when: ({ claims }) => claims.length > 0,
    step: ({ rows, claims }) => {
      const { id, generation, attempt } = claimOf(claims, n);
      return model.fail(rows, model.keyOf(id, generation), { ...failed, attempt });
    },
    act: ({ claims }, side) => {
      const { id, generation, attempt } = claimOf(claims, n);
      const { waits, ...how } = failed;
      return side.real.ledger.claims.fail(keyIn(side, id, generation), attempt, {
        ...failure,
        ...how,
        ...(waits ? { code: "retry_later" } : {}),
      });
    },
  }),
  abandonEvent: (id: string, run: string): Operation => ({
    title: `give up ${id} in ${run}`,
    step: ({ rows }) => model.abandonEvent(rows, latestKey(rows, id), run),
    act: ({ rows }, side) => {
      const key = keyIn(side, id, Math.max(0, model.latestOf(rows, id)));
      return side.real.ledger.claims.abandonEvent(key, {
        code: "gave_up",
        message: "stalled",
        run,
      });
    },
  }),
  retry: (id: string): Operation => ({
    title: `retry ${id}`,
    step: ({ rows }) => model.retry(rows, latestKey(rows, id)),
    act: async ({ rows }, side) => {
      const key = keyIn(side, id, Math.max(0, model.latestOf(rows, id)));
      return (await side.real.ledger.retries.retryMany([key]))[0];
    },
  }),
  replay: (id: string): Operation => ({
    title: `replay ${id}`,
    step: ({ rows }) => model.replay(rows, id),
    act: async (_, { real, prefix }) =>
      (await real.ledger.retries.replay([{ source: SOURCE, eventId: `${prefix}${id}` }]))[0],
  }),
  markEnqueued: (id: string): Operation => ({
    title: `mark ${id} enqueued`,
    step: ({ rows }) => model.markEnqueued(rows, latestKey(rows, id)),
    act: ({ rows }, side) =>
      side.real.ledger.intake.markEnqueued([
        keyIn(side, id, Math.max(0, model.latestOf(rows, id))),
      ]),
  }),
};

/** Every worker dies between two steps: what it held, nobody settles. */
export const workersDie: Operation = {
  title: "all workers die",
  step: () => ({ answer: undefined }),
  act: () => Promise.resolve(),
  taken: (world) => (world.claims = []),
};

const latestKey = (rows: ModelRows, id: string) =>
  model.keyOf(id, Math.max(0, model.latestOf(rows, id)));

function claimOf(claims: World["claims"], n: number): World["claims"][number] {
  const claim = claims[n % claims.length];
  if (claim === undefined) throw new Error("Cannot pick a claim: there is none");
  return claim;
}

const THROWN = new Error("the handler threw");

function attemptStep({ rows, claims }: World, n: number, how: string): Step {
  const { id, generation, attempt } = claimOf(claims, n);
  const key = model.keyOf(id, generation);
  const step = model.complete(rows, key, attempt);
  if (how === "completes" || step.answer === "lost") return step;
  return { answer: { error: how === "throws" ? THROWN : "database_unavailable" } };
}

async function runAttempt(
  { claims }: World,
  side: Side,
  { n, how }: { n: number; how: string },
): Promise<unknown> {
  const { id, generation, attempt } = claimOf(claims, n);
  const key = keyIn(side, id, generation);
  const { real, struck } = side;
  const running = real.ledger.claims.attempt(
    key,
    attempt,
    async (tx) => {
      await tx.execute(sql`insert into model_effects values (${key.eventId}, ${generation})`);
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
  if (how !== "is killed") return await running;
  return await running.catch((error: unknown) => {
    throw isMillraceError(error) ? error.code : error;
  });
}
