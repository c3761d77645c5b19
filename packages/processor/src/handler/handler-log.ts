import {
  cutWithoutSecrets,
  type EventKey,
  type HandlerLog,
  type LoggedLine,
  type LogLine,
} from "@millrace/core";
import { describeError, withoutQuery } from "../errors/describe-error.ts";

export interface LogFields {
  readonly source: string;
  readonly event_id?: string | undefined;
  readonly generation?: number | undefined;
  readonly attempt: number;
  readonly events?: number | undefined;
}

/** The writer of an attempt's lines, such as a child of a pino logger. */
export type LineWriter = HandlerLog & { isLevelEnabled(level: Level): boolean };
export type OpenLog = (fields: LogFields) => LineWriter;

type Level = keyof HandlerLog;

/** The most lines of an attempt: a handler in a loop must not fill a disk. */
const LINES_MAX = 200;
/** The last lines of an attempt that fails, which are kept with it. */
const KEPT = { lines: 64, lineChars: 1_000, bytes: 16_000 };

export class AttemptLog {
  readonly #open: OpenLog;
  readonly #events: readonly EventKey[];
  readonly #attempt: number;
  #writer: LineWriter | undefined;
  #limited: HandlerLog | undefined;
  #written = 0;
  #dropped = 0;
  readonly #kept: KeptLine[] = [];
  #keptBefore = 0;

  constructor(open: OpenLog, events: readonly EventKey[], attempt: number) {
    this.#open = open;
    this.#events = events;
    this.#attempt = attempt;
  }

  get lines(): HandlerLog {
    return (this.#limited ??= {
      debug: this.#line("debug"),
      info: this.#line("info"),
      warn: this.#line("warn"),
      error: this.#line("error"),
    });
  }

  end(): void {
    if (this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#writer?.warn({ dropped }, `${dropped} lines of this attempt's handlers are left out`);
  }

  last(secrets: readonly string[] = []): {
    readonly lines: readonly LoggedLine[];
    readonly dropped: number;
  } {
    const lines: LoggedLine[] = [];
    let bytes = 0;
    for (const { atMs, level, line } of this.#kept.toReversed()) {
      const text = textOf(line, secrets);
      bytes += Buffer.byteLength(text);
      if (bytes > KEPT.bytes) break;
      lines.unshift({ at: new Date(atMs).toISOString(), level, text });
    }
    return { lines, dropped: this.#keptBefore + this.#kept.length - lines.length };
  }

  get #fields(): LogFields {
    const attempt = this.#attempt;
    const { length: events } = this.#events;
    const { source = "", eventId, generation } = this.#events[0] ?? {};
    if (events > 1) return { source, attempt, events };
    return { source, event_id: eventId, generation, attempt };
  }

  #keep(line: KeptLine): void {
    this.#kept.push(line);
    if (this.#kept.length <= KEPT.lines) return;
    this.#kept.shift();
    this.#keptBefore += 1;
  }

  #line(level: Level): LogLine {
    return (...line: LineArguments) => {
      const writer = (this.#writer ??= this.#open(this.#fields));
      if (!writer.isLevelEnabled(level)) return;
      this.#keep({ atMs: Date.now(), level, line });
      if (this.#written >= LINES_MAX) {
        this.#dropped += 1;
        return;
      }
      this.#written += 1;
      const [first, message] = line;
      if (typeof first === "string") writer[level](first);
      else writer[level](first, message);
    };
  }
}

type LineArguments = [object | string, string?];

/** A line becomes text when its attempt fails: most do not. */
interface KeptLine {
  readonly atMs: number;
  readonly level: Level;
  readonly line: LineArguments;
}

function textOf([first, message]: LineArguments, secrets: readonly string[]): string {
  if (typeof first === "string") return tidy(first, secrets);
  let fields: string | undefined;
  try {
    fields = JSON.stringify(first, (_key, value: unknown) => shown(value, secrets));
  } catch {
    // A cycle, or a getter that throws.
  }
  return tidy(message === undefined ? (fields ?? "") : `${message} ${fields ?? ""}`, secrets);
}

function shown(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return withoutQuery(value);
  return value instanceof Error ? describeError(value, secrets) : value;
}

function tidy(text: string, secrets: readonly string[]): string {
  return cutWithoutSecrets(withoutQuery(text), KEPT.lineChars, secrets).replaceAll("\0", "").trim();
}

const SILENT: LineWriter = {
  isLevelEnabled: () => false,
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};

export const openSilently: OpenLog = () => SILENT;
