import { pino, type Logger } from "pino";

export type { Logger };

/**
 * A role's log: JSON lines on standard output. Secrets and bodies are never handed to it; the
 * redaction is a second net for objects that carry a request's headers.
 */
export function createLogger(options: { role: string; level: string }): Logger {
  return pino({
    level: options.level,
    base: { role: options.role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ["headers.authorization", "headers.cookie", "*.secret", "*.secrets", "*.password"],
      censor: "[redacted]",
    },
  });
}
