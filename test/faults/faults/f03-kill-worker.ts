import type { Failpoint } from "@millrace/core";
import type { Fault } from "./fault.ts";
import { killAtEach } from "./strike-role.ts";

const STEPS: readonly Failpoint[] = [
  "worker.fetched",
  "worker.recorded",
  "worker.handled",
  "worker.commit_sent",
  "worker.committed",
  "worker.before_fail",
  "worker.fail_recorded",
];

/** F3: a worker dies at each step of its way, with events in hand. */
export const killWorker: Fault = {
  id: "F3",
  title: "SIGKILL of a worker at a step of its way",
  uses: ["worker"],
  ways: killAtEach("F3", ({ stage }) => stage.workers, STEPS),
};
