import { identifyError } from "@millrace/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeError } from "../../packages/processor/src/errors/describe-error.ts";
import { stackFrames } from "../../packages/processor/src/errors/error-details.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";
import { UNSEEN } from "./same-errors/unseen.ts";
import { HELD, KNOWN, openHttp, prepare, type Kind } from "./same-errors/corpus.ts";

// Errors of one kind must be one group, and those of another kind another: of all pairs that are in one
// group, how many belong there (precision), and of all that belong there, how many are (recall).

const TIMES = 3;

let it: TestLedger;
let http: Awaited<ReturnType<typeof openHttp>>;
beforeAll(async () => {
  it = await openTestLedger();
  await prepare(it.pool);
  http = await openHttp();
});
afterAll(async () => {
  http.close();
  await it.close();
});

test.each([
  ["known", KNOWN],
  ["held back", HELD],
  ["written later", UNSEEN],
])("The kinds of errors that were %s are told apart, and no kind is split", async (_, kinds) => {
  expect(Object.keys(kinds)).toHaveLength(30);
  const seen: { kind: string; fingerprint: string; title: string }[] = [];
  for (const [kind, provoke] of Object.entries(kinds)) {
    for (let n = 0; n < TIMES; n += 1) seen.push({ kind, ...(await identify(provoke, n)) });
  }
  const pairs = seen.flatMap((one, index) =>
    seen.slice(index + 1).map((other) => [one, other] as const),
  );
  const same = pairs.filter(([one, other]) => one.fingerprint === other.fingerprint);
  const belong = pairs.filter(([one, other]) => one.kind === other.kind);
  const right = same.filter(([one, other]) => one.kind === other.kind).length;
  const wrong = pairs
    .filter(([one, other]) => (one.fingerprint === other.fingerprint) !== (one.kind === other.kind))
    .map(([one, other]) => `${one.kind}: ${one.title} | ${other.kind}: ${other.title}`);
  const found = { precision: right / same.length, recall: right / belong.length, wrong };
  expect(found.precision, wrong.join("\n")).toBe(1);
  expect(found.recall, wrong.join("\n")).toBeGreaterThanOrEqual(0.95);
});

/** As the processor does it, but for the frame: all kinds are thrown by one file here. */
async function identify(provoke: Kind, n: number) {
  try {
    await provoke(n, { pool: it.pool, http: http.url });
  } catch (error) {
    expect(Array.isArray(stackFrames(error, { projectDir: process.cwd() }))).toBe(true);
    return identifyError({ code: "handler_failed", text: describeError(error) });
  }
  throw new Error(`Nothing was thrown by ${provoke.toString()}, ${n}`);
}
