import { isDeepStrictEqual } from "node:util";
import { internal, meta, stripe } from "millrace";
import { describe, expect, test } from "vitest";
import exported from "../fixtures/pipeline/millrace.config.ts";
import { connect } from "../intake/raw-connection.ts";
import { onPostgres } from "../support/backends.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

const NOW = Math.floor(Date.now() / 1_000);
const HEX = "ab".repeat(32);
const BASE64 = Buffer.from(HEX, "hex").toString("base64");

const CONFIG = {
  ...exported,
  sources: {
    ...exported.sources,
    whatsapp: meta(),
    // It has no URL, and to a stranger it does not exist.
    mail: internal(),
    shops: stripe({ secrets: (tenant) => (tenant === "acme" ? "whsec_of-the-shop-acme" : null) }),
  },
  // A body that never comes is waited for, and that is seen soon.
  ingress: { bodyTimeoutMs: 2_000 },
};
const SOURCES = Object.keys(CONFIG.sources).filter((name) => !["mail", "shops"].includes(name));
const NOBODIES = ["mail", "nobody", "strpe", "x", "%73tripe", "github/", "a".repeat(5_000)];
const NO_TENANTS = ["shops", "shops/nobody", "shops/acme", "shops/ac%6De", "stripe/acme"];

type Headers = Readonly<Record<string, string>>;

const STANDARD = {
  "webhook-id": "evt_1",
  "webhook-timestamp": String(NOW),
  "webhook-signature": `v1,${BASE64}`,
};

const HEADS: readonly Headers[] = [
  {},
  STANDARD,
  { ...STANDARD, "webhook-timestamp": String(NOW - 3_600) },
  { ...STANDARD, "webhook-timestamp": "soon" },
  { ...STANDARD, "webhook-id": "a.b" },
  { ...STANDARD, "webhook-id": "" },
  { ...STANDARD, "webhook-signature": "v1,none" },
  { "stripe-signature": `t=${NOW},v1=${HEX}` },
  { "stripe-signature": `t=${NOW - 3_600},v1=${HEX}` },
  { "stripe-signature": `t=soon,v1=${HEX}` },
  { "x-hub-signature-256": `sha256=${HEX}`, "x-github-event": "push", "x-github-delivery": "1" },
  { "x-hub-signature-256": "sha256=none" },
];

interface Way {
  readonly line?: string;
  readonly headers?: Headers;
  readonly body: string;
}

const CHALLENGE = "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong-token";

const WAYS: Readonly<Record<string, Way>> = {
  "a small body": { body: '{"id":"evt_1","type":"thing.happened"}' },
  "a body of 70 kB": { body: JSON.stringify({ id: "evt_1", text: "x".repeat(70_000) }) },
  "a body of 1.1 MB": { body: JSON.stringify({ id: "evt_1", text: "x".repeat(1_100_000) }) },
  "a body in chunks": {
    headers: { "transfer-encoding": "chunked" },
    body: '26\r\n{"id":"evt_1","type":"thing.happened"}\r\n0\r\n\r\n',
  },
  "a body that never comes": { headers: { "content-length": "40" }, body: "" },
  "a body that is announced to be huge": { headers: { "content-length": "26214401" }, body: "" },
  "an empty body": { body: "" },
  "a compressed body": { headers: { "content-encoding": "gzip" }, body: "xxxxxxxx" },
  "a compressed transfer": {
    headers: { "transfer-encoding": "gzip, chunked" },
    body: "2\r\n{}\r\n0\r\n\r\n",
  },
  "a GET": { line: `GET ?${CHALLENGE}`, body: "" },
  "a PUT": { line: "PUT ", body: "{}" },
};

describe("a name that is not configured", () => {
  const env = { WHATSAPP_WEBHOOK_SECRET: "a-verify-token:a-whatsapp-secret" };
  const stack = openForAll(() => startStack(onPostgres, { env, config: CONFIG, worker: false }));
  const other = openForAll(() => stack.pipeline.startInProcess("ingress"));

  async function answerTo(name: string, headers: Headers, way: Way, at = stack.ingress) {
    const connection = await connect(Number(new URL(at.url).port));
    try {
      connection.write(request(name, headers, way));
      await connection.statuses(1);
      await until(() => connection.received().includes("}}"), { what: "the whole answer" });
      const text = connection.received().replace(/^date: .*\r\n/im, "");
      if (/^connection: close/im.test(text)) await connection.ended();
      return text;
    } finally {
      connection.abort();
    }
  }

  const answersOf = (name: string, way: Way) =>
    Promise.all(HEADS.map((head) => answerTo(name, head, way)));

  async function answersOfAll(names: readonly string[], way: Way): Promise<string[][]> {
    if (way.body.length < 1_000)
      return await Promise.all(names.map((name) => answersOf(name, way)));
    const answers: string[][] = [];
    for (const name of names) answers.push(await answersOf(name, way));
    return answers;
  }

  test("is answered as one of the sources is, in every way", async () => {
    const strangers = [...NOBODIES, ...NO_TENANTS];
    const candidates = new Map(strangers.map((name) => [name, SOURCES]));
    for (const [what, way] of Object.entries(WAYS)) {
      const known = await answersOfAll(SOURCES, way);
      const unknown = await answersOfAll(strangers, way);
      for (const [place, name] of strangers.entries()) {
        const like = candidates
          .get(name)
          ?.filter((source) => isDeepStrictEqual(known[SOURCES.indexOf(source)], unknown[place]));
        expect(like, `${name.slice(0, 20)}, ${what}`).not.toEqual([]);
        candidates.set(name, like ?? []);
      }
    }
  });

  test("is taken for the same source by every ingress, and different names for different ones", async () => {
    const { "a GET": ask = { body: "" } } = WAYS;
    const names = Array.from({ length: 40 }, (_, index) => `no-source-${index}`);
    const statuses = async (at: RoleInProcess) =>
      await Promise.all(
        names.map(async (name) => (await answerTo(name, {}, ask, at)).slice(9, 12)),
      );
    const here = await statuses(stack.ingress);
    expect(await statuses(other)).toEqual(here);
    expect(new Set(here)).toEqual(new Set(["401", "405"]));
  });

  test("is answered 401, and the log and the metrics say what it was", async () => {
    const misspelled = await stack.pipeline.start("ingress");
    const port = Number(new URL(misspelled.url).port);
    for (const body of ["{}", ""]) {
      const connection = await connect(port);
      connection.write(request("strpe", { "content-length": "2" }, { body }));
      expect(await connection.statuses(1)).toEqual([401]);
      await until(() => connection.received().includes("invalid_signature"));
      connection.abort();
    }
    await until(() => misspelled.output().includes("strpe"), { what: "the log line" });
    expect(misspelled.output()).toMatch(
      /"cause":"rejected: unknown: unknown_source","source":"unknown","code":"unknown_source".*"msg":"delivery rejected"/,
    );
    const metrics = await (await fetch(`${misspelled.url}/metrics`)).text();
    expect(metrics).toMatch(
      /millrace_ingress_rejected_total\{source="unknown",code="unknown_source".*\} 2/,
    );
  });

  test("is not logged if no source could have it", async () => {
    const asked = "no%0Asuch";
    const quiet = await stack.pipeline.start("ingress");
    await fetch(`${quiet.url}/webhooks/${asked}`, { method: "POST", body: "{}" });
    await until(() => quiet.output().includes("unknown_source"), { what: "the log line" });
    expect(quiet.output()).not.toContain("such");
  });
});

function request(
  name: string,
  headers: Headers,
  { line = "POST ", headers: own, body }: Way,
): string {
  const [method = "", query = ""] = line.split(" ");
  const framed = { ...headers, ...own };
  const isFramed = "transfer-encoding" in framed || "content-length" in framed;
  const length = isFramed ? {} : { "content-length": String(body.length) };
  const lines = Object.entries({ host: "localhost", ...length, ...framed }).map(
    ([header, value]) => `${header}: ${value}\r\n`,
  );
  return `${method} /webhooks/${name}${query} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
