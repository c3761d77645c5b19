import { write, writeSync } from "node:fs";

/** Where the bytes of a log go. Either call may take only the first of them. */
export interface LogSink {
  write(bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(bytes: Buffer): number;
}

export interface LogWriter {
  /** Takes a line, which is written soon, or lost when too much waits already. */
  write(line: string): void;
  /** Writes what waits, at the end of the process; gives up where it cannot be written. */
  flushSync(): void;
}

/** What may wait while a disk is full or a reader is slow. */
const BYTES_MAX = 1_048_576;
const RETRY_MS = 200;
const FLUSH_MS_MAX = 500;
const STDOUT = 1;

/**
 * Writes a log to standard output and never ends or blocks the process: what cannot be written now is
 * tried again, and what comes when 1 MiB waits is lost and counted. pino's own destination throws on
 * a full disk, and at the exit waits for room for ever.
 *
 * @param onLost - hears how many lines were lost, once all that waited is written.
 */
export function createLogWriter(
  onLost: (count: number) => void,
  sink: LogSink = standardOutput,
): LogWriter {
  let lines: string[] = [];
  /** What the sink was given, and has not taken yet. */
  let batch = Buffer.alloc(0);
  let underWay = false;
  let retry: NodeJS.Timeout | undefined;
  let waitingBytes = 0;
  let lost = 0;

  function proceed(): void {
    retry = undefined;
    if (batch.length === 0) {
      batch = Buffer.from(lines.join(""));
      lines = [];
    }
    underWay = true;
    sink.write(batch, (error, written) => {
      underWay = false;
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
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > BYTES_MAX) {
        lost += 1;
        return;
      }
      lines.push(line);
      waitingBytes += bytes;
      if (!underWay && retry === undefined) proceed();
    },
    flushSync() {
      const left = Buffer.from(lines.join(""));
      // What is under way is written by its own thread.
      writeAll(sink, underWay ? left : Buffer.concat([batch, left]));
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
      if (!isBusy(error)) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

// A pipe whose reader is slow.
function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
