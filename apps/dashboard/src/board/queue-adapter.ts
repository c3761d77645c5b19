import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { ExternalJobUrl } from "@bull-board/api/typings/app";
import { fromEnvelope, isMillraceError } from "@millrace/core";
import type { Job, JobType, Queue } from "bullmq";

const UNREADABLE = "Not all of this queue is shown: a key of it in Redis, or a job, was changed";

/**
 * A queue as bull-board reads it. Jobs are masked. A key that somebody has given another type, or a
 * job that cannot be parsed, counts as empty and is named in the queue's description: bull-board
 * reads all queues for each of its pages, and would open none.
 */
export class QueueAdapter extends BullMQAdapter {
  readonly #queue: Queue;
  /** The parts that the last read could not read. */
  readonly #unreadable = new Set<string>();

  constructor(queue: Queue) {
    // `allowCompletedRetries` is read by the adapter and missing from its types.
    const options = { readOnlyMode: false, allowCompletedRetries: false };
    super(queue, {
      ...options,
      // The adapter takes undefined for no link; its types do not.
      externalJobUrl: ({ data }) => eventUrl(data) as ExternalJobUrl,
    });
    this.#queue = queue;
    // Its menu offers a rate limit where the queue could have one; ours comes from the config.
    Object.defineProperty(this, "supportsGlobalRateLimit", { value: false });
    this.setFormatter("data", maskData);
    this.setFormatter("name", maskName);
    this.setFormatter("returnValue", maskValue);
    this.setFormatter("progress", maskValue);
  }

  override getDescription(): string {
    return this.#unreadable.size > 0 ? UNREADABLE : "";
  }

  override getJobCounts(): ReturnType<BullMQAdapter["getJobCounts"]> {
    return this.#read("counts", super.getJobCounts(), () => this.#countEach());
  }

  override getJobs(...query: Parameters<BullMQAdapter["getJobs"]>): Promise<Job[]> {
    return this.#read("jobs", super.getJobs(...query), () => this.#findEach(...query));
  }

  override async getJob(id: string): Promise<Job | undefined> {
    try {
      return await super.getJob(id);
    } catch (error) {
      if (!isUnparsable(error)) throw error;
      throw new SyntaxError("Cannot parse the job", { cause: error });
    }
  }

  override isPaused(): Promise<boolean> {
    return this.#read("paused", super.isPaused(), () => false);
  }

  override getGlobalConcurrency(): Promise<number | null> {
    return this.#read("concurrency", super.getGlobalConcurrency(), () => null);
  }

  override getJobSchedulersCount(): Promise<number> {
    return this.#read("schedulers", super.getJobSchedulersCount(), () => 0);
  }

  async #read<T>(what: string, result: Promise<T>, instead: () => T | Promise<T>): Promise<T> {
    this.#unreadable.delete(what);
    try {
      return await result;
    } catch (error) {
      if (!isUnparsable(error)) throw error;
      this.#unreadable.add(what);
      return await instead();
    }
  }

  async #countEach(): ReturnType<BullMQAdapter["getJobCounts"]> {
    const counts = await Promise.all(
      this.getJobStatuses().map(async (state) => {
        const count = await this.#queue.getJobCounts(state as JobType).catch(nothingUnparsable);
        return { [state]: 0, ...count };
      }),
    );
    return Object.assign({}, ...counts);
  }

  async #findEach(...[states, start, end]: Parameters<BullMQAdapter["getJobs"]>): Promise<Job[]> {
    const ids = await Promise.all(
      states.map((state) =>
        this.#queue.getRanges([state as JobType], start, end).catch(nothingUnparsable),
      ),
    );
    const jobs = await Promise.all(
      ids
        .flatMap((found) => found ?? [])
        .map((id) => this.#queue.getJob(id).catch(nothingUnparsable)),
    );
    return jobs.filter((job) => job !== undefined);
  }
}

/** True for what Redis says of a key of another type, and for a job's text that is no JSON. */
export function isUnreadable(error: unknown): boolean {
  // A request's body that is no JSON is an error with a status.
  if (error instanceof SyntaxError) return !("status" in error);
  return error instanceof Error && /\bWRONGTYPE\b/.test(error.message);
}

/** The error of BullMQ for a job whose fields somebody has changed. */
function isUnparsable(error: unknown): boolean {
  return isUnreadable(error) || error instanceof TypeError;
}

function nothingUnparsable(error: unknown): undefined {
  if (!isUnparsable(error)) throw error;
}

/** The part of a job's data that bull-board shows: the event's key, never its body or headers. */
function maskData(data: unknown): Record<string, unknown> {
  try {
    const event = fromEnvelope(data);
    return {
      source: event.source,
      id: event.eventId,
      type: event.type,
      generation: event.generation,
      accepted_at: new Date(event.acceptedAtMs).toISOString(),
      body_hash: event.bodyHash,
      unsigned: event.unsigned,
      body:
        event.body === undefined ? "in the ledger" : `${event.body.byteLength} bytes, not shown`,
    };
  } catch (error) {
    return { masked: isMillraceError(error) ? error.code : "invalid_envelope" };
  }
}

/** A job's name on the board: its event's type. What is not ours keeps its name to itself. */
function maskName(job: unknown): string {
  const data = typeof job === "object" && job !== null && "data" in job ? job.data : undefined;
  const { type } = maskData(data);
  return typeof type === "string" ? type : "(not an event)";
}

/** Where the dashboard shows a job's event; nothing for a job that is not ours. */
function eventUrl(data: unknown): { displayText: string; href: string } | undefined {
  const { source, id, generation } = maskData(data);
  if (typeof source !== "string") return undefined;
  const query = new URLSearchParams({ source, id: String(id), generation: String(generation) });
  return { displayText: "Event in the ledger", href: `/event?${query.toString()}` };
}

/** Results and progress: ours have none, and what others wrote there is not shown. */
function maskValue(value: unknown): string | null {
  return value === undefined || value === null ? null : "(not shown)";
}
