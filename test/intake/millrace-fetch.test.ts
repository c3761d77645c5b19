import { Receiver, createFetchAdapter, type IntakeNotice } from "@millrace/intake";
import { beforeEach, expect, test } from "vitest";
import { createMemoryStore, type MemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS, signed } from "./plain-config.ts";

let store: MemoryStore;
let notices: IntakeNotice[];

beforeEach(() => {
  store = createMemoryStore();
  notices = [];
});

function handle(request: Request, over: { bodyTimeoutMs?: number } = {}): Promise<Response> {
  const config = plainConfig();
  const receiver = new Receiver({
    config: { ...config, ingress: { ...config.ingress, ...over } },
    secrets: SECRETS,
    stores: [store],
    notify: (notice) => notices.push(notice),
  });
  return createFetchAdapter(receiver)(request, "plain");
}

function streamed(
  pieces: readonly Uint8Array[],
  headers: Record<string, string>,
  end: "close" | "break" | "hang" = "close",
) {
  const rest = [...pieces];
  const seen = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = rest.shift();
      if (piece !== undefined) return controller.enqueue(piece);
      if (end === "close") controller.close();
      if (end === "break") controller.error(new Error("cut"));
      return end === "hang" ? new Promise(() => {}) : undefined;
    },
    cancel() {
      seen.cancelled = true;
    },
  });
  const url = "https://hooks.example.com/webhooks/plain?a=%2Fb";
  const request = new Request(url, {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  return { request, seen };
}

const codeOf = async (response: Response): Promise<unknown> =>
  JSON.parse(await response.text()).error?.code;

test("a body that comes in pieces is verified and kept as one", async () => {
  const { headers, body } = signed({ id: "evt_1", text: "é".repeat(500) });
  const bytes = Buffer.from(body);
  const { request } = streamed([bytes.subarray(0, 41), bytes.subarray(41)], headers);
  expect((await handle(request)).status).toBe(202);
  expect(Buffer.from(store.events.get("plain/evt_1")?.body ?? [])).toEqual(bytes);
});

test("a body without end is left at the source's limit", async () => {
  const pieces = Array.from({ length: 100 }, () => Buffer.alloc(1_000, "x"));
  const { request, seen } = streamed(pieces, {}, "hang");
  const response = await handle(request);
  expect([response.status, await codeOf(response)]).toEqual([413, "body_too_large"]);
  expect(seen.cancelled).toBe(true);
  expect(notices).toMatchObject([{ outcome: "rejected", code: "body_too_large", source: "plain" }]);
});

test("a body that does not come in time, or not to its end, is refused", async () => {
  const hanging = streamed([Buffer.from("{")], {}, "hang").request;
  const late = await handle(hanging, { bodyTimeoutMs: 100 });
  expect([late.status, await codeOf(late)]).toEqual([408, "body_timeout"]);
  const cut = await handle(streamed([Buffer.from("{")], {}, "break").request);
  expect([cut.status, await codeOf(cut)]).toEqual([400, "body_incomplete"]);
  expect(store.calls).toEqual([]);
});

test("a body that was read before is refused, and reported as a fault of the app", async () => {
  const request = new Request("https://hooks.example.com/webhooks/plain", {
    method: "POST",
    ...signed({ id: "evt_1" }),
  });
  const locked = request.clone();
  locked.body?.getReader();
  await request.text();
  for (const read of [request, locked]) {
    const response = await handle(read);
    expect([response.status, await codeOf(response)]).toEqual([500, "body_already_read"]);
  }
});
