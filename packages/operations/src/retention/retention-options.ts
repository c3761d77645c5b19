import type { RetentionLedger } from "@millrace/ledger";
import type { RetentionNotice } from "./notices.ts";

/** How long what is settled is kept. */
export interface RetentionPolicy {
  /** Days that bodies are kept, by the database's clock. */
  readonly bodiesDays: number;
  /** Days that completed events are known. */
  readonly keysDays: number;
  /** Absolute path of the folder that bodies are written to before they are dropped. */
  readonly archiveDir?: string | undefined;
}

export interface RetentionDeps {
  readonly ledger: RetentionLedger;
  readonly notify: (notice: RetentionNotice) => void;
}
