import { withDeadline } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { setNewest } from "../cache.ts";
import type { Session } from "./sessions.ts";

export type SessionStore = ReturnType<typeof createSessionStore>;

interface Deps {
  readonly ledger: Pick<Ledger, "sessions">;
  readonly onError: (error: unknown) => void;
}

const FRESH_MS = 10_000;
const ANSWER_MS_MAX = 1_000;
const SESSIONS_MAX = 10_000;

interface Known {
  askedMs: number;
  ended: boolean;
  answer: Promise<void>;
}

/**
 * Postgres is needed to end a session, and not to have one: while it is away nobody is signed out,
 * and people can sign in.
 */
export function createSessionStore({ ledger, onError }: Deps) {
  const known = new Map<string, Known>();

  async function ask(session: Session, network: string, to: Known): Promise<void> {
    const late = () => new Error(`Postgres did not answer within ${ANSWER_MS_MAX} ms`);
    try {
      const seen = ledger.sessions.see({ ...session, network });
      const { ended } = await withDeadline(seen, ANSWER_MS_MAX, late);
      if (ended) to.ended = true;
    } catch (error) {
      onError(error);
    }
  }

  function remember(id: string): Known {
    const found = known.get(id) ?? { askedMs: -Infinity, ended: false, answer: Promise.resolve() };
    setNewest(known, id, found, SESSIONS_MAX);
    return found;
  }

  return {
    /** Also notes the use. The answer is ten seconds old at most, unless Postgres is away. */
    async isEnded(session: Session, network: string): Promise<boolean> {
      const one = remember(session.id);
      if (performance.now() - one.askedMs >= FRESH_MS) {
        one.askedMs = performance.now();
        one.answer = ask(session, network, one);
      }
      await one.answer;
      return one.ended;
    },
    /** Ends a session here at once, and in other dashboards when Postgres has it. */
    async end(session: Session): Promise<void> {
      remember(session.id).ended = true;
      const late = () => new Error(`Postgres did not end a session within ${ANSWER_MS_MAX} ms`);
      await withDeadline(ledger.sessions.end(session.id), ANSWER_MS_MAX, late).catch(onError);
    },
  };
}
