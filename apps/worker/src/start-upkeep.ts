import { settledWithin, type Config } from "@millrace/core";
import { createRetentionLedger, ensurePartitions, type createPool } from "@millrace/ledger";
import { runRetention, type RetentionNotice, type RetentionResult } from "@millrace/operations";
import { createUpkeep } from "./upkeep.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Milliseconds that a batch which is under way may take to end. */
const END_MS = 3_000;

export interface UpkeepDeps {
  readonly pool: ReturnType<typeof createPool>;
  /** Absolute path of the folder for archives, if there is to be one. */
  readonly archiveDir: string | undefined;
  readonly notifyRetention: (notice: RetentionNotice) => void;
  /** Hears what a run of the retention came to. */
  readonly onRetention: (result: RetentionResult) => void;
  readonly onUpkeepError: (chore: "partitions" | "retention", error: unknown) => void;
}

/** Makes the days of bodies ahead, and lets go of the old ones. Ends within seconds. */
export function startUpkeep(
  deps: UpkeepDeps,
  { retention }: Pick<Config, "retention">,
): { close(): Promise<void> } {
  const { pool, archiveDir, notifyRetention: notify } = deps;
  const ledger = createRetentionLedger({ pool });
  const chores = [
    createUpkeep({
      run: () => ensurePartitions(pool),
      everyMs: DAY_MS,
      onError: (error) => deps.onUpkeepError("partitions", error),
    }),
    createUpkeep({
      run: async (signal) =>
        deps.onRetention(
          await runRetention({ ledger, notify }, { ...retention, archiveDir }, signal),
        ),
      everyMs: HOUR_MS,
      onError: (error) => deps.onUpkeepError("retention", error),
    }),
  ];
  return {
    close: async () => {
      await settledWithin(Promise.all(chores.map((chore) => chore.close())), END_MS);
    },
  };
}
