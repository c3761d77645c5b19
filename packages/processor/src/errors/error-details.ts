import { identifyError, type ErrorDetails } from "@millrace/core";
import type { FailedAttempt, RetryDecision } from "../job/retry-policy.ts";
import { stackFrames } from "./stack-frames.ts";

/** What of a failure is kept. */
export interface KeptOptions {
  /** False keeps no stack. */
  readonly stack: boolean;
  /** What the files of the project's own code are relative to. */
  readonly projectDir: string;
  /** Are kept in no error and no line, beside those that can be told from other words. */
  readonly secrets: readonly string[];
}

/**
 * What is kept of a failure beside its code and message. Undefined for what is nobody's error, and so in no group: an
 * attempt that was given back, or that another worker took over.
 *
 * @param failed - the attempt; undefined for one that did not begin.
 */
export function errorDetails(
  { code, message, counts }: RetryDecision,
  failed: FailedAttempt | undefined,
  options: KeptOptions,
): ErrorDetails | undefined {
  if (!counts || code === "lost_claim") return undefined;
  // Of an attempt that was broken off, what the handler threw is a consequence.
  const isHandlers = failed?.thrownByHandler === true && failed.abortReason === undefined;
  const stack = isHandlers ? stackFrames(failed.error, options) : [];
  const frame = stack.find(({ own }) => own);
  const { lines: log, dropped: logDropped } = failed?.log?.last(options.secrets) ?? {
    lines: [],
    dropped: 0,
  };
  const identity = identifyError({ code, text: message, frame });
  return { ...identity, stack: options.stack ? stack : [], log, logDropped };
}
