import type { Skip } from "@millrace/operations";

/** What is done with events. */
export type Verb = "retry" | "replay";

export const DONE: Record<Verb, string> = { retry: "retried", replay: "replayed" };

/** Why an event was left alone, in words. */
export const REASONS: Record<Skip, string> = {
  not_failed: "not failed, or on its way already",
  not_settled: "pending",
  superseded: "a later generation is there",
  not_found: "neither the ledger nor the queue knows it",
  unknown_source: "the config has no source of this name, so no worker would run it",
  only_in_queue: "only its job is there, which no worker could record: see the queue dashboard",
  body_missing: "its body is no longer kept",
};
