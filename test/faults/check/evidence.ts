import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClientLog } from "../load/client-log.ts";
import type { Lags } from "../lags.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import { readQueues, type QueueDump } from "./queue-dump.ts";

/** A breach of an invariant. */
export interface Finding {
  /** As in the list of invariants: `I1`. */
  readonly invariant: string;
  readonly text: string;
}

/** Looks for breaches of one invariant. */
export type Check = (evidence: Evidence) => readonly Finding[] | Promise<readonly Finding[]>;

/** What identifies a row of the ledger and of all that is checked against it. */
export interface Generation {
  readonly source: string;
  readonly id: string;
  readonly generation: number;
}

export interface LedgerRow extends Generation {
  readonly type: string;
  readonly status: "pending" | "completed" | "failed";
  readonly outcome: string | null;
  readonly attempts: number;
}

export interface EffectRow extends Generation {
  readonly attempt: number;
}

/** A start of a handler. */
export interface StartRow extends EffectRow {
  readonly pid: number;
  /** Events that the handler was given, this one among them. */
  readonly given: number;
}

interface HistoryRow extends Generation {
  readonly was: string | null;
  readonly isNow: string | null;
}

/** All that the invariants are checked on, read when everything is at rest. */
export interface Evidence {
  readonly environment: FaultEnvironment;
  readonly log: ClientLog;
  readonly rows: readonly LedgerRow[];
  readonly effects: readonly EffectRow[];
  readonly history: readonly HistoryRow[];
  /** Every start of a handler, also of runs that were undone. */
  readonly starts: readonly StartRow[];
  /** Failed attempts that the ledger has logged, by event. */
  readonly failedAttempts: ReadonlyMap<string, number>;
  readonly queues: QueueDump;
  /** Why the pipeline did not come to rest in time, if so. */
  readonly notDrained: string | undefined;
  /** How late this process itself was, to judge how late the others were. */
  readonly lags: Lags;
  /** When nothing was broken and when something was, where the one is to be measured by the other. */
  readonly stretches?: Stretches | undefined;
}

/** From and to, in epoch milliseconds of this machine. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Stretches {
  readonly quiet: Stretch;
  readonly struck: Stretch;
}

export function generationOf({ source, id, generation }: Generation): string {
  return `${source}/${id}/${generation}`;
}

export async function gatherEvidence(
  seen: Pick<Evidence, "environment" | "log" | "notDrained" | "lags" | "stretches">,
): Promise<Evidence> {
  const { environment } = seen;
  const all = async <Row>(text: string) => (await environment.database.query(text)).rows as Row[];
  const failed = await all<Generation & { count: number }>(
    `select source, event_id as id, generation, count(*)::int from millrace.attempts group by 1, 2, 3`,
  );
  return {
    ...seen,
    rows: await all(
      `select source, event_id as id, generation, type, status, outcome, attempts from millrace.events`,
    ),
    effects: await all(`select source, event_id as id, generation, attempt from proof.effects`),
    history: await all(
      `select source, event_id as id, generation, was, is_now as "isNow" from proof.history order by number`,
    ),
    starts: await readStarts(environment.folder),
    failedAttempts: new Map(failed.map((row) => [generationOf(row), row.count])),
    queues: await readQueues(environment),
  };
}

async function readStarts(folder: string): Promise<StartRow[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith("starts-"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .flatMap((text) => text.split("\n"))
    .flatMap((line) => {
      const start = readStart(line);
      return start === undefined ? [] : [start];
    });
}

// The last line of a process that was killed may be half a line.
function readStart(line: string): StartRow | undefined {
  try {
    const [source, id, generation, attempt, pid, given] = JSON.parse(line) as [
      ...[string, string, number, number],
      ...[number, number],
    ];
    return { source, id, generation, attempt, pid, given };
  } catch {
    return undefined;
  }
}
