import { createHash } from "node:crypto";
import { withQueue } from "../../support/queue-fixture.ts";
import type { Fault, Way } from "./fault.ts";

/** F24: jobs are put into the queue by hand. None of them is an event that was delivered. */
export const inject: Fault = {
  id: "F24",
  title: "jobs injected by hand",
  uses: ["redis", "postgres"],
  ways: {
    "no envelope": injectOf(() => ({ hello: "world" })),
    "another's hash": injectOf((id) => envelope(id, { body_hash: hash("another body") })),
    "another's id": injectOf((id) => envelope(`${id}_of_another`)),
    "another's source": injectOf((id) => envelope(id, { source: "frail" })),
  },
};

function injectOf(data: (id: string) => Record<string, unknown>): Way {
  return async ({ environment, random }) => {
    const id = `msg_injected_${random.between(0, 2 ** 31)}`;
    environment.strangers.add(`steady/${id}`);
    await withQueue(environment.urls, "steady", (queue) =>
      queue.add("test.follow", data(id), { jobId: id }),
    );
    environment.strike("F24", `job ${id} injected`);
  };
}

function envelope(id: string, over: Record<string, unknown> = {}): Record<string, unknown> {
  const body = JSON.stringify({ type: "test.follow", plan: {} });
  return {
    v: 1,
    source: "steady",
    id,
    type: "test.follow",
    generation: 0,
    accepted_at: Date.now(),
    body_hash: hash(body),
    headers: {},
    unsigned: false,
    body,
    body_encoding: "utf8",
    ...over,
  };
}

function hash(body: string): string {
  return createHash("sha256").update(body).digest("base64url");
}
