import {
  cutWithoutSecrets,
  type EventKey,
  type HandlerLog,
  type LoggedLine,
  type LogLine,
} from "@millrace/core";
import { describeError, withoutQuery } from "../errors/describe-error.ts";

/** What stands on each line that the handlers of an attempt write. */
export interface LogFields {
  readonly source: string;
  /** Of a set-based handler with several events: none. */
  readonly event_id?: string | undefined;
  readonly generation?: number | undefined;
  readonly attempt: number;
  /** Events of a set-based handler. */
  readonly events?: number | undefined;
}

/** What an attempt's lines are written to, such as a child of a pino logger. */
export type LineWriter = HandlerLog & { isLevelEnabled(level: Level): boolean };
export type OpenLog = (fields: LogFields) => LineWriter;

type Level = keyof HandlerLog;

/** Lines of an attempt that are written: a handler in a loop must not fill a disk. */
const LINES_MAX = 200;
/** The last lines of an attempt that fails, which are kept with it. */
const KEPT = { lines: 64, lineChars: 1_000, bytes: 16_000 };

/** The log of an attempt, which is opened when a handler asks for it: most never do. */
export class AttemptLog {
  private readonly open: OpenLog;
  private readonly events: readonly EventKey[];
  private readonly attempt: number;
  private writer: LineWriter | undefined;
  private limited: HandlerLog | undefined;
  private written = 0;
  private dropped = 0;
  private readonly kept: KeptLine[] = [];
  private keptBefore = 0;

  /** @param events - one, or those of a set-based handler. */
  constructor(open: OpenLog, events: readonly EventKey[], attempt: number) {
    this.open = open;
    this.events = events;
    this.attempt = attempt;
  }

  get lines(): HandlerLog {
    return (this.limited ??= {
      debug: this.line("debug"),
      info: this.line("info"),
      warn: this.line("warn"),
      error: this.line("error"),
    });
  }

  /** Says how many lines were left out. */
  end(): void {
    if (this.dropped === 0) return;
    const { dropped } = this;
    this.dropped = 0;
    this.writer?.warn({ dropped }, `${dropped} lines of this attempt's handlers are left out`);
  }

  /**
   * The last lines, as they are kept with a failed attempt, and how many came before those.
   *
   * @param secrets - are not kept, beside those that can be told from other words.
   */
  last(secrets: readonly string[] = []): {
    readonly lines: readonly LoggedLine[];
    readonly dropped: number;
  } {
    const lines: LoggedLine[] = [];
    let bytes = 0;
    for (const { atMs, level, line } of this.kept.toReversed()) {
      const text = textOf(line, secrets);
      bytes += Buffer.byteLength(text);
      if (bytes > KEPT.bytes) break;
      lines.unshift({ at: new Date(atMs).toISOString(), level, text });
    }
    return { lines, dropped: this.keptBefore + this.kept.length - lines.length };
  }

  private get fields(): LogFields {
    const { events, attempt } = this;
    const [first] = events;
    const { source = "", eventId, generation } = first ?? {};
    // The lines of a set are of too many events to name.
    if (events.length > 1) return { source, attempt, events: events.length };
    return { source, event_id: eventId, generation, attempt };
  }

  private keep(line: KeptLine): void {
    this.kept.push(line);
    if (this.kept.length <= KEPT.lines) return;
    this.kept.shift();
    this.keptBefore += 1;
  }

  private line(level: Level): LogLine {
    return (...line: LineArguments) => {
      const writer = (this.writer ??= this.open(this.fields));
      if (!writer.isLevelEnabled(level)) return;
      this.keep({ atMs: Date.now(), level, line });
      if (this.written >= LINES_MAX) {
        this.dropped += 1;
        return;
      }
      this.written += 1;
      const [first, message] = line;
      if (typeof first === "string") writer[level](first);
      else writer[level](first, message);
    };
  }
}

type LineArguments = [object | string, string?];

/** It is made a text when its attempt fails: most do not. */
interface KeptLine {
  readonly atMs: number;
  readonly level: Level;
  readonly line: LineArguments;
}

/** The message, and the fields as JSON. */
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

/** Where nobody reads what handlers write. */
export const openSilently: OpenLog = () => SILENT;
