import type { RetentionLedger } from "@millrace/ledger";

export interface RetentionPolicy {
  readonly bodiesDays: number;
  readonly keysDays: number;
  /** Absolute path of the folder that bodies are written to before they are dropped. */
  readonly archiveDir?: string | undefined;
}

export interface RetentionDeps {
  readonly ledger: RetentionLedger;
  readonly notify: (notice: RetentionNotice) => void;
}

export type RetentionNotice =
  /** Bodies of events that are not completed were moved on from a day to today. */
  | {
      readonly kind: "moved";
      readonly day: string;
      readonly events: number;
      readonly bytes: number;
    }
  | { readonly kind: "archiving"; readonly day: string; readonly events: number }
  /** A day's archive is whole. `events` were written by this run: none when it was whole before. */
  | {
      readonly kind: "archived";
      readonly day: string;
      readonly events: number;
      readonly file: string;
    }
  | { readonly kind: "dropped"; readonly day: string; readonly bytes: number }
  | { readonly kind: "busy"; readonly day: string }
  | { readonly kind: "keys_deleted"; readonly events: number };
