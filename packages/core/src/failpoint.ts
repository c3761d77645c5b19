import type { Words } from "./words-of.ts";

/** Steps at which fault tests kill, stop or block the process, in the order of an event's way. */
export type Failpoint = Words<`
  ingress.verified ingress.before_put queue.add_sent ledger.accepted ledger.before_enqueue
  ledger.enqueued ledger.marked ingress.placed ingress.fallen_back ingress.before_retry
  ingress.retried ingress.before_answer
  worker.fetched worker.group_admitted worker.group_ran worker.group_commit_sent
  worker.group_committed worker.recorded worker.before_call worker.step_ran worker.step_recorded
  worker.called worker.locked worker.handled worker.commit_sent worker.committed worker.before_fail
  worker.fail_recorded
  bulk_run.before_batch bulk_run.members_added bulk_run.committed bulk_run.enqueued
  retention.moved retention.detached retention.keys_deleted
`>;

const HOOK = Symbol.for("millrace.failpoint");

/** Reports that a step is reached. Only tests subscribe; otherwise it reads a missing property. */
export function failpoint(name: Failpoint): void {
  const { [HOOK]: reached } = globalThis as { [HOOK]?: (name: Failpoint) => void };
  reached?.(name);
}
