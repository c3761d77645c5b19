import { isMillraceError, isPermanentError, isRetryLater } from "@millrace/core";
import { describeError } from "./describe-error.ts";

const READ_LATER = ["name", "message", "code", "cause", "errors", "severity", "afterMs"];

/**
 * What was thrown, or in its place an error of our own when looking at it throws (a getter, a
 * Proxy): those who judge it later must not stumble.
 */
export function readableError(thrown: unknown): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null)
    return thrown;
  try {
    isMillraceError(thrown);
    isPermanentError(thrown);
    isRetryLater(thrown);
    for (const key of READ_LATER) Reflect.get(thrown, key);
    return thrown;
  } catch {
    return new Error(`Cannot read what was thrown: ${describeError(thrown)}`);
  }
}
