import type { SeenSession } from "@millrace/ledger";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSessionStore } from "./sessions.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const SESSION = { id: "an id", user: "ops", role: "operator", expiresAt: new Date() } as const;

function aStore() {
  const seen: SeenSession[] = [];
  const errors: unknown[] = [];
  const postgres = {
    ended: false,
    see: async (session: SeenSession) => {
      seen.push(session);
      return { ended: postgres.ended };
    },
    end: async () => (postgres.ended = true),
    find: async () => [],
  };
  const ledger = {
    sessions: {
      see: (session: SeenSession) => postgres.see(session),
      end: () => postgres.end(),
      find: () => postgres.find(),
    },
  };
  const store = createSessionStore({ ledger, onError: (error) => errors.push(error) });
  return { store, seen, errors, postgres, isEnded: () => store.isEnded(SESSION, "127.0.0.1") };
}

test("Postgres is asked once in ten seconds, by all requests together", async () => {
  const { seen, postgres, isEnded } = aStore();
  expect(await Promise.all([isEnded(), isEnded(), isEnded()])).toEqual([false, false, false]);
  expect(seen).toEqual([{ ...SESSION, network: "127.0.0.1" }]);
  postgres.ended = true;
  await vi.advanceTimersByTimeAsync(9_999);
  expect(await isEnded()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await isEnded()).toBe(true);
  expect(seen).toHaveLength(2);
});

test("while Postgres is away, what was ended stays ended, and all else lives", async () => {
  const { errors, postgres, isEnded, store } = aStore();
  postgres.see = () => new Promise(() => {});
  const asked = isEnded();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([await asked, errors.length]).toEqual([false, 1]);
  postgres.end = () => Promise.reject(new Error("away"));
  await store.end(SESSION);
  await vi.advanceTimersByTimeAsync(10_000);
  postgres.see = () => Promise.reject(new Error("away"));
  expect(await isEnded()).toBe(true);
});
