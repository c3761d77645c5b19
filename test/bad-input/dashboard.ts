import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { DASHBOARD } from "./fixture/variables.ts";
import { exchange } from "./exchange.ts";
import { stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";
import { toBytes } from "./wire.ts";

const BOARD = "/queues/api/queues/millrace-stripe";
const JSON_TYPE = ["content-type", "application/json"] as const;
type Headers = readonly (readonly [string, string])[];

const READS = ["/queues", "/queues/api/queues", "/api/events", "/api/stats", "/metrics"];
const WRITES: readonly (readonly [string, string])[] = [
  ["POST", "/api/events/stripe/kept_1/retry"],
  ["POST", "/api/events/stripe/kept_1/replay"],
  ["POST", "/api/sources/stripe/pause"],
  ["PUT", `${BOARD}/kept_1/retry`],
  ["PUT", `${BOARD}/pause`],
];
// The whole route table of bull-board is tried in test/dashboard/board.test.ts.
const FORBIDDEN: readonly (readonly [string, string, string?])[] = [
  ["PUT", "/obliterate", '{"force":true}'],
  ["PUT", "/kept_1/clean"],
  ["PATCH", "/kept_1/update-data", '{"jobData":{"v":1}}'],
  ["POST", "/add", '{"name":"x","data":{},"options":{"jobId":"meta"}}'],
];

export function dashboard(tests: LineTests, target: () => Target): void {
  const ask = async (method: string, path: string, headers: Headers = [], text = "") => {
    const port = Number(new URL(target().dashboard.url).port);
    const body = Buffer.from(text);
    const { status, code } = await exchange(
      port,
      toBytes({ source: "", method, path, headers, body }),
    );
    return `${status} ${code}`;
  };
  let session: Promise<string> | undefined;
  const signedIn = async (...headers: Headers): Promise<Headers> => {
    session ??= signIn(target().dashboard.url);
    return [["cookie", await session], ...headers];
  };

  tests.proves(57, "without user and password nothing is read or written", async () => {
    for (const path of READS) expect(await ask("GET", path)).toBe("401 unauthorized");
    for (const [method, path] of WRITES) expect(await ask(method, path)).toBe("401 unauthorized");
    for (const wrong of ["Bearer x", `Basic ${Buffer.from("ops:x").toString("base64")}`]) {
      expect(await ask("GET", "/api/events", [["authorization", wrong]])).toBe("401 unauthorized");
    }
  });

  tests.proves(57, "a page of another origin writes nothing, signed in or not", async () => {
    for (const [method, path] of WRITES) {
      for (const header of [
        ["origin", "http://evil.example"],
        ["origin", "null"],
        ["sec-fetch-site", "cross-site"],
      ] as const) {
        expect(await ask(method, path, await signedIn(header))).toBe("403 forbidden");
      }
    }
  });

  tests.proves(57, "nobody removes, edits or forges a job, signed in or not", async () => {
    await target().take(stripe(stripeBody("kept_1")), "kept_1");
    for (const [method, path, body] of FORBIDDEN) {
      const headers = await signedIn(...(body === undefined ? [] : [JSON_TYPE]));
      expect([path, await ask(method, BOARD + path, headers, body)]).toEqual([
        path,
        "403 forbidden",
      ]);
    }
    expect(await target().effectsOf("stripe", "kept_1")).toBe(1);
  });

  tests.proves(57, "a completed event is not retried, by any route", async () => {
    await target().take(stripe(stripeBody("done_1")), "done_1");
    for (const [method, path] of [
      ["PUT", `${BOARD}/done_1/retry`],
      ["POST", "/api/events/stripe/done_1/retry"],
    ] as const) {
      expect(await ask(method, path, await signedIn())).toBe("409 not_failed");
    }
    expect(await target().effectsOf("stripe", "done_1")).toBe(1);
  });
}

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(DASHBOARD),
  });
  expect(answer.status).toBe(200);
  return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}
