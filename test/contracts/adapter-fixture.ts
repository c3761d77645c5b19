import type { Config } from "@millrace/core";
import type { EventStore, IntakeNotice, Notify } from "@millrace/intake";
import { afterEach, beforeEach } from "vitest";
import { createMemoryStore, type MemoryStore } from "../intake/memory-store.ts";
import { plainConfig, SECRETS, signed } from "../intake/plain-config.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

export interface Adapter {
  send(request: {
    source: string;
    method?: string;
    query?: string;
    headers?: Record<string, string>;
    body?: string | Uint8Array;
  }): Promise<Answer>;
  close(): Promise<void>;
}

export type OpenAdapter = (deps: {
  config: Config;
  secrets: Readonly<Record<string, readonly string[]>>;
  stores: readonly EventStore[];
  notify: Notify;
}) => Promise<Adapter>;

export interface AdapterFixture {
  store: MemoryStore;
  adapter: Adapter;
  notices: IntakeNotice[];
  deliver(data: unknown, source?: string, headers?: Record<string, string>): Promise<Answer>;
}

export function useAdapter(open: OpenAdapter): AdapterFixture {
  const it = {
    deliver: (data, source = "plain", headers = {}) => {
      const request = signed(data);
      return it.adapter.send({ ...request, source, headers: { ...request.headers, ...headers } });
    },
  } as AdapterFixture;
  beforeEach(async () => {
    it.store = createMemoryStore();
    it.notices = [];
    it.adapter = await open({
      config: plainConfig(),
      secrets: SECRETS,
      stores: [it.store],
      notify: (notice) => it.notices.push(notice),
    });
  });
  afterEach(() => it.adapter.close());
  return it;
}

export const codeOf = (answer: Answer): unknown => JSON.parse(answer.text).error?.code;
