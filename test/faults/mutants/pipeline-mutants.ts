import { run, type Mutant } from "./mutant.ts";

const QUEUE = "packages/queue/src";
const INTAKE = "packages/intake/src";

const WAITS: Mutant["trials"] = [{ suites: ["test/processor/waits.test.ts"] }];

/** Mistakes on the way in, in the queue, in the worker and in the reconciler. */
export const PIPELINE_MUTANTS: readonly Mutant[] = [
  {
    name: "a handler that asks to wait uses up an attempt",
    edits: [
      {
        file: "packages/processor/src/job/retry-policy.ts",
        from: "    final: false,\n    counts: false,\n",
        to: '    final: false,\n    counts: code === "retry_later",\n',
      },
    ],
    trials: WAITS,
  },
  {
    name: "an event may wait without end",
    edits: [
      {
        file: "packages/processor/src/job/retry-policy.ts",
        from: "const leftMs = waitMaxMs - pendingForMs;",
        to: "const leftMs = waitMaxMs + pendingForMs;",
      },
    ],
    trials: WAITS,
  },
  {
    name: "a wait that the log leaves out is recorded each time that it is asked for",
    edits: [
      {
        file: "packages/ledger/src/claims/fail.ts",
        from: "AND is_unlogged AND next_attempt_at IS NULL AND NOT EXISTS",
        to: "AND is_unlogged AND NOT EXISTS",
      },
    ],
    trials: [{ suites: ["test/ledger/lost-answers.test.ts"] }],
  },
  {
    name: "the digest of a signed message is taken of the bytes that came, and not of its canonical form",
    edits: [
      {
        file: "packages/providers/src/signature/signature-scheme.ts",
        from: "{ ok: true, signed: match.signed }",
        to: "{ ok: true, signed: [delivery.body] }",
      },
    ],
    trials: [
      {
        suites: ["packages/providers/src/signed-messages.test.ts", "test/attacks/replays.test.ts"],
      },
    ],
  },
  {
    name: "every signature is accepted",
    edits: [
      {
        file: "packages/providers/src/signature/signature-algorithm.ts",
        from: "return signatures.some((signature) => timingSafeEqual(digest, signature));",
        to: "return signatures.length > 0 || timingSafeEqual(digest, digest);",
      },
    ],
    trials: [run("redis", "queue", "F2")],
  },
  {
    name: "the sender is answered before the event is anywhere",
    edits: [
      {
        file: `${INTAKE}/event-stores.ts`,
        from: "    const results = await this.#put(source, events);",
        to: '    void this.#put(source, events);\n    const results: StoreResult[] = events.map(() => "accepted");',
      },
    ],
    trials: [
      // What waits behind a slow call was answered already.
      run("redis", "queue", "F1/ingress.before_put,F1/queue.add_sent,F12/slow,F12/black hole", 0.4),
      { suites: ["test/contracts/receive.test.ts"] },
    ],
  },
  {
    name: "a bare add, without a deadline",
    edits: [
      {
        file: `${INTAKE}/store-writer.ts`,
        from: "      const deadline = this.#deadlines.add(delivery);\n",
        to: "      const deadline = this.#deadlines.add(delivery);\n      this.#deadlines.delete(deadline);\n",
      },
      {
        file: `${INTAKE}/store-writer.ts`,
        from: "    const call = this.#store.put(events);\n",
        to: "    const call = this.#store.put(events);\n    if (call !== undefined) return call;\n",
      },
      {
        file: `${QUEUE}/create-queues.ts`,
        from: "await withDeadline(adding, timeoutMs, late);",
        to: "await adding;\n    void [withDeadline, late];",
      },
      {
        file: `${QUEUE}/redis-clients.ts`,
        from: "    commandTimeout: options.commandTimeoutMs,\n",
        to: "",
      },
      { file: `${QUEUE}/redis-clients.ts`, from: "    socketTimeout: 5_000,\n", to: "" },
    ],
    trials: [run("redis", "queue", "F12/frozen,F12/black hole", 0.3)],
  },
  {
    name: "a breaker that never opens again",
    edits: [
      {
        file: "packages/core/src/circuit-breaker.ts",
        from: "    await probe();\n    isOpen = false;\n",
        to: "    await probe();\n",
      },
    ],
    trials: [run("redis", "queue", "F12/frozen,F16/refused", 0.3)],
  },
  {
    name: "the raw event id is the job id",
    edits: [
      {
        file: `${QUEUE}/names.ts`,
        from: "  const first = isSafe(eventId) ? eventId : `h-${sha256(eventId)}`;",
        to: "  const first = eventId;",
      },
    ],
    trials: [run("redis", "queue", "F2")],
  },
  {
    name: "a job is believed whatever its hash says",
    edits: [
      {
        file: "packages/processor/src/job/trust-job.ts",
        from: "  if (event.body !== undefined && bodyHash(event.body) !== event.bodyHash) {",
        to: "  if (event.body !== undefined && bodyHash(event.body) === '') {",
      },
    ],
    trials: [{ suites: ["packages/processor/src/job/trust-job.test.ts"] }],
  },
  {
    name: "the first failed attempt ends the job",
    edits: [
      {
        file: `${QUEUE}/process-job.ts`,
        from: "  throw new RetryJobError(job, result.afterMs, reason);\n}",
        to: "  throw new UnrecoverableError(reason);\n}",
      },
    ],
    trials: [run("redis", "queue", "F2")],
  },
  {
    name: "a source takes every slot, whatever its own concurrency",
    edits: [
      {
        file: "apps/worker/src/create-worker.ts",
        from: "sources[source]?.options.concurrency ??\n",
        to: "(source in sources ? undefined : 1) ??\n",
      },
    ],
    trials: [run("redis", "queue", "F21/floods", 0.02)],
  },
  {
    name: "a timer for each attempt that nobody clears",
    edits: [
      {
        file: "packages/processor/src/handler/attempt-event.ts",
        from: "const clock = setTimeout(",
        to: "const clock = setInterval(",
      },
      {
        file: "packages/processor/src/handler/attempt-event.ts",
        from: "    clearTimeout(clock);\n",
        to: "    void clock;\n",
      },
    ],
    trials: [run("redis", "queue", "F2")],
  },
  {
    name: "a listener for each attempt that stays with the worker's own signal",
    edits: [
      {
        file: "packages/processor/src/handler/attempt-event.ts",
        from: 'signal.removeEventListener("abort", this.#follow);',
        to: "void signal;",
      },
    ],
    trials: [{ suites: ["test/faults/alone/footprint.test.ts"] }],
  },
  {
    name: "a reconciler that adds nothing",
    edits: [
      {
        file: "packages/operations/src/reconcile/repair.ts",
        from: "    repair: addJobs,",
        to: "    repair: async () => 0 * addJobs.length,",
      },
    ],
    trials: [run("redis", "ledger", "F10")],
  },
  {
    name: "the epoch of Postgres is not compared",
    edits: [
      {
        file: "packages/operations/src/reconcile/ledger-epoch.ts",
        from: "    if (mark === undefined) continue;\n",
        to: "    if (mark === undefined || mark.pass >= 0) continue;\n",
      },
    ],
    trials: [{ suites: ["test/operations/reconcile-postgres-lost.test.ts"] }],
  },
  {
    name: "a completed job runs again though the ledger has its event as completed",
    edits: [
      {
        file: "packages/operations/src/reconcile/repair.ts",
        from: 'row?.status === "failed" && job?.state === "completed"',
        to: 'row?.status !== "pending" && row !== undefined && job?.state === "completed"',
      },
    ],
    trials: [{ suites: ["test/operations/reconcile-postgres-lost.test.ts"] }],
  },
  {
    name: "a page of completed jobs begins behind as many as the page before had",
    edits: [
      {
        file: "packages/operations/src/reconcile/compare.ts",
        from: "    from = lastMs === undefined || lastMs === from.atMs ? next : { atMs: lastMs, skip: 0 };\n",
        to: "    from = next;\n",
      },
    ],
    trials: [{ suites: ["test/operations/reconcile-postgres-lost.test.ts"] }],
  },
  {
    name: "a failed job of a completed event stays failed",
    edits: [
      {
        file: "packages/operations/src/reconcile/repair.ts",
        from: "    repair: completeJobs,\n",
        to: "    repair: async () => 0,\n",
      },
    ],
    trials: [{ suites: ["test/operations/reconcile-queue-lost.test.ts"] }],
  },
  {
    name: "a redelivery of a completed job asks nobody",
    edits: [
      {
        file: `${QUEUE}/bullmq-patches/redis-add.ts`,
        from: '  if call("ZSCORE", completed, id) then return COMPLETED end\n',
        to: '  if call("ZSCORE", completed, id) then return DUPLICATE end\n',
      },
    ],
    trials: [{ suites: ["test/intake/redelivered-after-restore.test.ts"] }],
  },
  {
    name: "an event passes for enqueued, though its job was lost before it was marked",
    edits: [
      {
        file: "packages/operations/src/reconcile/pass.ts",
        from: "  if (recheckEnqueued === true)",
        to: "  if (recheckEnqueued === undefined)",
      },
    ],
    trials: [{ suites: ["test/operations/reconcile-queue-lost.test.ts"] }],
  },
  {
    name: "a reconciler that takes delayed jobs for missing ones",
    edits: [
      {
        file: `${QUEUE}/redis-queries.ts`,
        from: '  if redis.call("EXISTS", key) == 0 then\n',
        to: `  if redis.call("ZREM", prefix .. "delayed", id) == 1 then redis.call("DEL", key) end
  if redis.call("EXISTS", key) == 0 then\n`,
      },
    ],
    trials: [{ suites: ["test/contracts/queue.test.ts", "test/operations/reconcile.test.ts"] }],
  },
];
