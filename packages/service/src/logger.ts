import { pino, type Logger } from "pino";
import { createLogWriter } from "./log-writer.ts";

export type { Logger };

/**
 * A role's log: JSON lines on standard output. Callers never pass secrets or bodies; redaction is a
 * safety net for objects that carry a request's headers.
 */
export function createLogger(options: { role: string; level: string }): Logger {
  const writer = createLogWriter((lost) => logger.warn({ lost }, "log lines were lost"));
  const logger = pino(
    {
      level: options.level,
      base: { role: options.role, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ["headers.authorization", "headers.cookie", "*.secret", "*.secrets", "*.password"],
        censor: "[redacted]",
      },
    },
    { write: (line) => writer.write(line) },
  );
  if (options.level !== "silent") process.once("exit", () => writer.flushSync());
  return logger;
}
