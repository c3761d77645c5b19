import { pino, type Logger } from "pino";
import { createLogWriter } from "./log-writer.ts";

export type { Logger };

/**
 * A role's log: JSON lines on standard output. Secrets and bodies are never handed to it; the
 * redaction is a second net for objects that carry a request's headers.
 */
export function createLogger(options: { role: string; level: string }): Logger {
  const writer = createLogWriter((lost) => logger.warn({ lost }, "lines of the log were lost"));
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
