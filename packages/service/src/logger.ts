import { write, writeSync } from "node:fs";
import { pino, type Logger } from "pino";

export type { Logger };

/** Callers never pass secrets or bodies: redaction is a safety net for a request's headers. */
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

/** Either call can take only the first of the bytes. */
export interface LogSink {
  write(bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(bytes: Buffer): number;
}

/** The bytes that wait while a disk is full or a reader is slow. */
const BYTES_MAX = 1_048_576;
const RETRY_MS = 200;
const FLUSH_MS_MAX = 500;
const STDOUT = 1;

/**
 * Never ends or blocks the process, as pino's own destination does on a full disk: failed writes
 * are repeated, and lines beyond 1 MiB are lost and counted.
 * @param onLost - gets the number of lost lines, once all waiting lines are written.
 */
export function createLogWriter(onLost: (count: number) => void, sink: LogSink = standardOutput) {
  let lines: string[] = [];
  let batch = Buffer.alloc(0);
  let isWriting = false;
  let retry: NodeJS.Timeout | undefined;
  let waitingBytes = 0;
  let lost = 0;

  function proceed(): void {
    retry = undefined;
    if (batch.length === 0) {
      batch = Buffer.from(lines.join(""));
      lines = [];
    }
    isWriting = true;
    sink.write(batch, (error, written) => {
      isWriting = false;
      if (error === null) wrote(written);
      else retry = setTimeout(proceed, RETRY_MS).unref();
    });
  }

  function wrote(bytes: number): void {
    batch = batch.subarray(bytes);
    waitingBytes -= bytes;
    if (waitingBytes > 0) return proceed();
    const count = lost;
    lost = 0;
    if (count > 0) onLost(count);
  }

  return {
    write(line: string): void {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > BYTES_MAX) {
        lost += 1;
        return;
      }
      lines.push(line);
      waitingBytes += bytes;
      if (!isWriting && retry === undefined) proceed();
    },
    /** Writes the waiting lines at the end of the process; gives up where it cannot. */
    flushSync(): void {
      const left = Buffer.from(lines.join(""));
      // The current write goes on in its own thread.
      writeAll(sink, isWriting ? left : Buffer.concat([batch, left]));
    },
  };
}

const standardOutput: LogSink = {
  write: (bytes, done) => write(STDOUT, bytes, done),
  writeSync: (bytes) => writeSync(STDOUT, bytes),
};

function writeAll(sink: LogSink, bytes: Buffer): void {
  const deadline = performance.now() + FLUSH_MS_MAX;
  let left = bytes;
  while (left.length > 0 && performance.now() < deadline) {
    try {
      left = left.subarray(sink.writeSync(left));
    } catch (error) {
      // EAGAIN: a pipe whose reader is slow.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
