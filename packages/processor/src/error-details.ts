import { identifyError, type ErrorDetails } from "@millrace/core";
import type { FailedAttempt, RetryDecision } from "./retry-policy.ts";
import { stackFrames } from "./stack-frames.ts";

/**
 * What is kept of a failure beside its code and message. Undefined for what is nobody's error, and so in no group: an
 * attempt that was given back, or that another worker took over.
 *
 * @param failed - the attempt; undefined for one that did not begin.
 * @param options.stack - false keeps no stack.
 */
export function errorDetails(
  { code, message, counts }: RetryDecision,
  failed: FailedAttempt | undefined,
  options: { readonly stack: boolean },
): ErrorDetails | undefined {
  if (!counts || code === "lost_claim") return undefined;
  // Of an attempt that was broken off, what the handler threw is a consequence.
  const isHandlers = failed?.thrownByHandler === true && failed.abortReason === undefined;
  const stack = isHandlers ? stackFrames(failed.error) : [];
  const frame = stack.find(({ own }) => own);
  const { lines: log, dropped: logDropped } = failed?.log?.last() ?? { lines: [], dropped: 0 };
  const identity = identifyError({ code, text: message, frame });
  return { ...identity, stack: options.stack ? stack : [], log, logDropped };
}
