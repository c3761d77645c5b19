import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { ExternalJobUrl } from "@bull-board/api/typings/app";
import { fromEnvelope, isMillraceError } from "@millrace/core";
import type { Job, JobType, Queue } from "bullmq";

const UNREADABLE = "Not all of this queue is shown: a key of it in Redis, or a job, was changed";

/**
 * A queue as bull-board reads it. A key of another type, or a job that cannot be parsed, counts as
 * empty: bull-board reads all queues for each page, and would open none.
 */
export class QueueAdapter extends BullMQAdapter {
  readonly #queue: Queue;
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
    // The rate limit comes from the config.
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

export function isUnreadable(error: unknown): boolean {
  // The error of a request's body has a status.
  if (error instanceof SyntaxError) return !("status" in error);
  return error instanceof Error && /\bWRONGTYPE\b/.test(error.message);
}

/** BullMQ fails with a TypeError for a job whose fields were changed. */
const isUnparsable = (error: unknown): boolean => isUnreadable(error) || error instanceof TypeError;

function nothingUnparsable(error: unknown): undefined {
  if (!isUnparsable(error)) throw error;
}

/** Shows an event's key, and never its body or headers. */
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

function maskName(job: unknown): string {
  const data = typeof job === "object" && job !== null && "data" in job ? job.data : undefined;
  const { type } = maskData(data);
  return typeof type === "string" ? type : "(not an event)";
}

function eventUrl(data: unknown): { displayText: string; href: string } | undefined {
  const { source, id, generation } = maskData(data);
  if (typeof source !== "string") return undefined;
  const query = new URLSearchParams({ source, id: String(id), generation: String(generation) });
  return { displayText: "Event in the ledger", href: `/event?${query.toString()}` };
}

/** Our jobs have no results and no progress. */
const maskValue = (value: unknown): string | null =>
  value === undefined || value === null ? null : "(not shown)";
