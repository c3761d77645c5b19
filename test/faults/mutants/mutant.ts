/** A part of a file, and what it becomes. It must stand in the file exactly once. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Something that must not end well on a mutant: a run of faults, or suites. */
export type Trial = { readonly faults: readonly string[] } | { readonly suites: readonly string[] };

/** A classic mistake, as edits of the source, and the trials of which one must catch it. */
export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly trials: readonly Trial[];
}

/** The arguments of a short run of faults. */
export function run(
  backend: "redis" | "postgres",
  ack: "queue" | "ledger",
  only: string,
  minutes = 0.15,
): Trial {
  const how = ["--backend", backend, "--ack", ack, "--only", only, "--minutes", String(minutes)];
  return { faults: [...how, "--seed", "11", "--rate", "80", "--drain", "30"] };
}
