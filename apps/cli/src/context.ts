/** Where a command writes; a terminal says so. */
export interface Output {
  write(data: string | Uint8Array): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The process that a command runs in. Only `main.ts` fills it from a real one. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file that a child process runs to be this command again. */
  readonly bin: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Who runs the command; null where the system has no name for it. */
  readonly user: string | null;
  /** All of standard input. */
  readStdin(): Promise<Buffer>;
  /** Asks the person at the terminal; undefined where nobody can answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls back on each Ctrl-C, SIGTERM and SIGHUP until the returned function is called. */
  onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** The code that the process exits with: 0 ok, 1 failure, 2 usage. */
  setExitCode(code: number): void;
  /** Ends the process here and now. */
  exit(code: number): void;
}
