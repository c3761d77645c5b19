import type { Evidence } from "./evidence.ts";

/** A breach of an invariant. */
export interface Finding {
  /** As in the list of invariants: `I1`. */
  readonly invariant: string;
  readonly text: string;
}

/** Looks for breaches of one invariant. */
export type Check = (evidence: Evidence) => readonly Finding[] | Promise<readonly Finding[]>;
