import { callbackify } from "node:util";
import { PINNED_LOCALLY, PINNED_OPTIONS } from "@millrace/core";
import pg from "pg";

/** For each pool, whether a pooler refuses or ignores what a connection begins with. */
export class SessionSettings {
  static readonly #ofClients = new WeakMap<pg.ClientBase, SessionSettings>();
  isPooled = false;

  static begin(client: pg.ClientBase): readonly string[] {
    return SessionSettings.#ofClients.get(client)?.isPooled === true
      ? ["BEGIN", ...PINNED_LOCALLY]
      : ["BEGIN"];
  }

  /** Behind a pooler, transactions set what connections cannot. */
  static notePooler(client: pg.ClientBase): void {
    const settings = SessionSettings.#ofClients.get(client);
    if (settings !== undefined) settings.isPooled = true;
  }

  clientClass(): typeof pg.Client {
    const note = (client: pg.ClientBase) => SessionSettings.#ofClients.set(client, this);
    const isPooled = () => this.isPooled;
    class PinnedClient extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super(config);
        note(this);
      }

      // pg asks for what its startup packet says; its types leave it out.
      getStartupConf(): Record<string, string> {
        const startup = super["getStartupConf" as never] as unknown as () => Record<string, string>;
        const given = startup.call(this);
        if (isPooled()) return given;
        return { ...given, options: [given["options"], PINNED_OPTIONS].filter(Boolean).join(" ") };
      }
    }
    return PinnedClient;
  }

  watch(pool: pg.Pool): void {
    connectOnceMore(pool, (error) => {
      const text = error instanceof Error ? error.message : "";
      if (this.isPooled || !text.includes("unsupported startup parameter")) return false;
      this.isPooled = true;
      return true;
    });
  }
}

export function connectOnceMore(
  pool: { connect: unknown },
  isSolved: (error: unknown, sinceMs: number) => boolean,
): void {
  const connect = (pool.connect as () => Promise<unknown>).bind(pool);
  const connectTwice = async () => {
    const sinceMs = performance.now();
    try {
      return await connect();
    } catch (error) {
      if (!isSolved(error, sinceMs)) throw error;
      return await connect();
    }
  };
  const withClient = callbackify(connectTwice);
  pool.connect = (callback?: Parameters<typeof withClient>[0]) => {
    if (callback === undefined) return connectTwice();
    // The pool's own queries call it so; they release the client itself.
    withClient(callback);
    return undefined;
  };
}
