import { fromEnvelope, type EnvelopedEvent, type EventKey } from "@millrace/core";
import type { Queue } from "bullmq";
import type { Backend, SeenEnd, SeenJob } from "./backend.ts";
import { jobId } from "./job-id.ts";
import type { EndedJob, EndedJobs, EndedFrom, JobGlance, Queues } from "./queues.ts";
import { runName } from "./run-name.ts";

type Comparison = Pick<Queues, "glance" | "endedJobs" | "epochs" | "writeEpoch">;

/** Jobs that one look at a queue takes in, so that the server serves others in between. */
const LOOK_MAX = 500;

/** What the reconciler asks of the queues: many jobs at a time, and nothing of their bodies. */
export function createComparison(backend: Backend, queues: ReadonlyMap<string, Queue>): Comparison {
  const queueOf = (source: string): Queue => {
    const queue = queues.get(source);
    if (queue === undefined) throw new Error(`Cannot find the queue: no source "${source}"`);
    return queue;
  };
  return {
    glance: async (keys) => {
      const glances: (JobGlance | undefined)[] = Array.from({ length: keys.length });
      const looks = chunksBySource(keys).map(async (asked) => {
        const ids = asked.map(({ key }) => jobId(key.eventId, key.generation));
        const seen = await backend.look(queueOf(asked[0]?.key.source ?? ""), ids);
        asked.forEach(({ index }, position) => {
          glances[index] = toGlance(seen[position]);
        });
      });
      await Promise.all(looks);
      return glances;
    },
    endedJobs: async (source, state, from = { atMs: 0, skip: 0 }) => {
      const jobs = await backend.ended(queueOf(source), { state, from, limit: LOOK_MAX });
      return { jobs: jobs.map((job) => toEnded(source, job)), next: following(from, jobs) };
    },
    epochs: () => backend.epochs(queues),
    writeEpoch: (source, epoch) => backend.writeEpoch(queueOf(source), epoch),
  };
}

interface Asked {
  readonly key: EventKey;
  /** Where it stands in the question. */
  readonly index: number;
}

function chunksBySource(keys: readonly EventKey[]): Asked[][] {
  const bySource = new Map<string, Asked[][]>();
  keys.forEach((key, index) => {
    const chunks = bySource.get(key.source) ?? [];
    bySource.set(key.source, chunks);
    const last = chunks.at(-1);
    if (last !== undefined && last.length < LOOK_MAX) last.push({ key, index });
    else chunks.push([{ key, index }]);
  });
  return [...bySource.values()].flat();
}

function toGlance(seen: SeenJob | undefined): JobGlance | undefined {
  if (seen?.state === undefined) return seen && { state: "live" };
  return { ...endOf(seen), state: seen.state };
}

/** BullMQ has counted the end of the run by now; the run itself bore the number before. */
function endOf({ finishedAtMs, failedReason, ...job }: SeenJob): Omit<EndedJob, "jobId" | "event"> {
  const attemptsMade = Math.max(0, job.attemptsMade - 1);
  const run = runName({ timestamp: job.addedAtMs, attemptsMade, failedReason: failedReason ?? "" });
  return { finishedAtMs, failedReason, run };
}

function toEnded(source: string, job: SeenEnd): EndedJob {
  const event = eventOf(job.data);
  const isOurs = event?.source === source && jobId(event.eventId, event.generation) === job.id;
  return { ...endOf(job), jobId: job.id, event: isOurs ? event : undefined };
}

function eventOf(data: string): EnvelopedEvent | undefined {
  try {
    return fromEnvelope(JSON.parse(data));
  } catch {
    return undefined;
  }
}

/** Jobs may end in the same millisecond, so that a page goes on by how many of its last one it had. */
function following(from: EndedFrom, jobs: readonly SeenJob[]): EndedJobs["next"] {
  const atMs = jobs.at(-1)?.finishedAtMs;
  if (atMs === undefined || jobs.length < LOOK_MAX) return undefined;
  const ties = jobs.filter((job) => job.finishedAtMs === atMs).length;
  return { atMs, skip: atMs === from.atMs ? from.skip + ties : ties };
}
