import {
  AwaitedCalls,
  failpoint,
  isStorableWithin,
  MillraceError,
  type JobTrace,
  type JsonPayload,
  type Once,
  type StopSignal,
} from "@millrace/core";
import { stepIdempotencyKey } from "./idempotency-key.ts";

interface Deps {
  /** The results of earlier attempts by the name of the step: JSON, or null for undefined. */
  readonly recorded: ReadonlyMap<string, string | null>;
  readonly idempotencyKey: string;
  /** Asked before a step runs: its job may be another worker's by now. */
  readonly isStopped: () => boolean;
  readonly trace: JobTrace | undefined;
  readonly record: (step: {
    readonly name: string;
    readonly result: string | null;
  }) => Promise<"recorded" | "lost">;
}

const NAME_BYTES_MAX = 200;
const RESULT_BYTES_MAX = 65_536;

/** The steps of one attempt (`once`). All of its calls share their names. */
export class Steps {
  readonly #deps: Deps;
  readonly #names = new Set<string>();
  /** True once a later attempt has claimed the event: this one records nothing more. */
  isLost = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Runs a call, and waits for its steps that still run. When the signal has aborted, none begins.
   * @throws an error of the call; `query_not_awaited`
   */
  async ofCall(signal: StopSignal, call: (once: Once) => unknown): Promise<unknown> {
    let isOpen = true;
    const calls = new AwaitedCalls();
    const once: Once = async (name, run) => {
      if (this.#deps.isStopped() || signal.aborted) throw signal.reason;
      if (!isOpen)
        throw refused(`Cannot begin step "${name}": its call has ended; await every step`);
      return await this.#run(name, run);
    };
    let result: unknown;
    try {
      result = await call((name, run) => calls.track(`step "${name}"`, once(name, run)));
    } finally {
      isOpen = false;
    }
    await calls.end();
    return result;
  }

  readonly #run: Once = async (name, run) => {
    this.#begin(name);
    const { recorded, idempotencyKey, trace } = this.#deps;
    const known = recorded.get(name);
    if (known !== undefined) return fromText(known);
    const step = () =>
      this.#runAndRecord(name, () => run(stepIdempotencyKey(idempotencyKey, name)));
    return fromText(await (trace ? trace.part("step", step, { step: name }) : step()));
  };

  async #runAndRecord(name: string, run: () => unknown): Promise<string | null> {
    const { record } = this.#deps;
    const result = toText(name, await run());
    failpoint("worker.step_ran");
    if (this.isLost || (await record({ name, result })) === "lost") {
      this.isLost = true;
      throw new MillraceError(
        "lost_claim",
        `Cannot record step "${name}": another worker has claimed the event`,
      );
    }
    failpoint("worker.step_recorded");
    // The caller gets it as a later attempt does: a Date is text from the first attempt on.
    return result;
  }

  #begin(name: string): void {
    if (typeof name !== "string" || !isStorableWithin(name, NAME_BYTES_MAX)) {
      throw refused(
        `Cannot begin a step: its name must be text of 1 to ${NAME_BYTES_MAX} bytes, without NUL`,
      );
    }
    if (this.#names.has(name)) {
      throw refused(
        `Cannot begin step "${name}": this attempt has begun a step of that name; give each its own, such as "${name}:2"`,
      );
    }
    this.#names.add(name);
  }
}

function toText(name: string, result: unknown): string | null {
  if (result === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(result);
  } catch {
    // A BigInt, or an object with a cycle.
  }
  if (text === undefined) throw unrecordable(name, "its result is not JSON");
  const bytes = Buffer.byteLength(text);
  if (bytes <= RESULT_BYTES_MAX) return text;
  throw unrecordable(
    name,
    `its result takes ${bytes} bytes, and at most ${RESULT_BYTES_MAX} are kept`,
  );
}

/** Retries do not help: they would run the step again, under the same key. */
function unrecordable(name: string, reason: string): MillraceError {
  return refused(
    `Cannot record step "${name}", which has run: ${reason}. Return only what the rest of the handler needs, then retry the event: the step runs again with the same key`,
  );
}

function refused(message: string): MillraceError {
  return new MillraceError("step_refused", message);
}

function fromText(text: string | null): JsonPayload {
  return text === null ? undefined : JSON.parse(text);
}
