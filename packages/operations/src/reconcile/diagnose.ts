import {
  findFinished,
  findPending,
  requireStores,
  type Finding,
  type FindOptions,
} from "./compare.ts";
import { addFound, countOne, type CompareDeps, type FoundByKind } from "./disagreement.ts";
import { findLedgerChanges } from "./epochs.ts";

export interface DiagnoseOptions extends FindOptions {
  readonly keysDays: number;
  readonly examplesMax: number;
  readonly onProgress?: (looked: number) => void;
}

export interface Diagnosis {
  readonly found: FoundByKind;
  readonly looked: number;
  readonly pending: number;
  /** Sources whose queue fails by itself, with its error. */
  readonly notCompared: ReadonlyMap<string, unknown>;
}

/** The reconciler gives events that the ledger alone has accepted their first job before that. */
const FIRST_JOB_GRACE = 12;

type Comparison = Omit<Diagnosis, "notCompared">;

/**
 * Compares as the reconciler does, and changes nothing. If one queue fails, each is compared alone.
 * @throws `database_unavailable`, and the queue's error.
 */
export async function diagnose(deps: CompareDeps, options: DiagnoseOptions): Promise<Diagnosis> {
  try {
    return { ...(await compare(deps, options)), notCompared: new Map() };
  } catch (error) {
    await requireStores(deps);
    const compared: Comparison[] = [];
    const notCompared = new Map<string, unknown>();
    for (const source of options.sources) {
      try {
        compared.push(await compare(deps, { ...options, sources: [source] }));
      } catch (reason) {
        await requireStores(deps);
        notCompared.set(source, reason);
      }
    }
    // A fault of all queues is not the fault of one.
    if (compared.length === 0) throw error;
    const merged = compared.reduce((one, other) => ({
      found: addFound(one.found, other.found, options.examplesMax),
      looked: one.looked + other.looked,
      pending: one.pending + other.pending,
    }));
    return { ...merged, notCompared };
  }
}

async function compare(deps: CompareDeps, options: DiagnoseOptions): Promise<Comparison> {
  let found: FoundByKind = new Map();
  let looked = 0;
  const look = async (findings: AsyncIterable<Finding>, isWanted: (kind: string) => boolean) => {
    for await (const finding of findings) {
      const wanted = finding.found.filter(({ kind }) => isWanted(kind));
      found = addFound(found, wanted.map(countOne), options.examplesMax);
      looked += finding.looked;
      options.onProgress?.(looked);
    }
  };
  const graceMs = options.graceMs * FIRST_JOB_GRACE;
  await look(findPending(deps, { ...options, graceMs, which: "not_enqueued" }), () => true);
  const before = looked;
  await look(findPending(deps, { ...options, which: "enqueued" }), () => true);
  // It reads everything that is pending, and leaves out what was compared before.
  const pending = looked - before;
  // Pending events were compared before, whatever their jobs.
  const isNew = (kind: string) => !kind.startsWith("pending");
  await look(findFinished(deps, { ...options, state: "failed", sinceMs: 0 }), isNew);
  const { changes } = await findLedgerChanges(deps, options.sources);
  for (const source of options.sources) {
    const completed = { ...options, sources: [source], state: "completed", sinceMs: 0 } as const;
    await look(findFinished(deps, { ...completed, wasUndone: changes.has(source) }), isNew);
  }
  return { found, looked, pending };
}
