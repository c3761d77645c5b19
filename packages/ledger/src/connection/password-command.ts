import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { commandWords, MillraceError } from "@millrace/core";
import { connectOnceMore } from "./pinned-settings.ts";
import { sqlStateOf } from "./sqlstate.ts";

const run = promisify(execFile);
const TIMEOUT_MS = 5_000;
/** Shorter than any token lives: those of RDS and of Microsoft Entra, 15 minutes and an hour. */
const KEPT_MS = 5 * 60_000;
/** 28P01 of Postgres, and 28000 of those that ask another service. */
const REFUSED = /^28(P01|000)$/;

/** The password of Postgres that a program prints, one for all pools of a process. */
export class PasswordCommand {
  static readonly #commands = new Map<string, PasswordCommand>();
  readonly #argv: readonly string[];
  #read: { readonly atMs: number; readonly password: Promise<string> } | undefined;

  private constructor(text: string) {
    this.#argv = commandWords(text) ?? [];
  }

  static of(text: string): PasswordCommand {
    const command = this.#commands.get(text) ?? new PasswordCommand(text);
    this.#commands.set(text, command);
    return command;
  }

  /** @throws `database_unavailable` when the program fails, prints nothing, or is too slow */
  async read(): Promise<string> {
    const nowMs = performance.now();
    if (this.#read === undefined || nowMs - this.#read.atMs > KEPT_MS) {
      this.#read = { atMs: nowMs, password: this.#run() };
    }
    const { password } = this.#read;
    try {
      return await password;
    } catch (error) {
      if (this.#read?.password === password) this.#read = undefined;
      throw error;
    }
  }

  /** Lets a pool connect once more, with a new password, when Postgres has refused one. */
  watch(pool: { connect: unknown }): void {
    connectOnceMore(pool, (error, sinceMs) => {
      if (!REFUSED.test(sqlStateOf(error) ?? "")) return false;
      if (this.#read !== undefined && this.#read.atMs <= sinceMs) this.#read = undefined;
      return true;
    });
  }

  async #run(): Promise<string> {
    const [program = "", ...words] = this.#argv;
    try {
      const options = { timeout: TIMEOUT_MS, killSignal: "SIGKILL" } as const;
      const password = (await run(program, words, options)).stdout.trim();
      if (password === "") throw new Error("it printed nothing");
      return password;
    } catch (error) {
      throw new MillraceError(
        "database_unavailable",
        `Cannot use Postgres: DATABASE_PASSWORD_COMMAND failed: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  }
}

function reasonOf(error: unknown): string {
  const { killed, message, stderr } = error as Error & { killed?: boolean; stderr?: string };
  if (killed === true) return `no answer in ${TIMEOUT_MS / 1_000} s`;
  return stderr?.trim().split("\n").at(-1) || message;
}
