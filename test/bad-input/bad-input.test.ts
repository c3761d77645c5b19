import { afterAll, afterEach, beforeAll, test } from "vitest";
import { onOneBackend, type TestServers } from "../support/backends.ts";
import { bodies } from "./bodies.ts";
import { edge } from "./edge.ts";
import { flood } from "./flood.ts";
import { handlers } from "./handlers.ts";
import { identities } from "./identities.ts";
import { createLineTests } from "./lines.ts";
import { secrets } from "./secrets.ts";
import { signatures } from "./signatures.ts";
import { slowSenders } from "./slow-senders.ts";
import { startTarget, type Target } from "./target.ts";
import { timestamps } from "./timestamps.ts";

const tests = createLineTests();

onOneBackend("bad input", (prepare) => {
  let servers: TestServers;
  let target: Target;

  beforeAll(async () => {
    servers = await prepare();
    target = await startTarget(servers);
  });
  afterEach(() => target.stillWorks());
  afterAll(async () => {
    await target?.close();
    await servers?.release();
  });

  for (const section of [signatures, timestamps, bodies, slowSenders, identities, edge, flood]) {
    section(tests, () => target);
  }
  handlers(tests, () => target);
  // Last, for they look at what all the others have left.
  secrets(tests, () => target);
  test("the ledger holds what was acknowledged, settled once, and nothing else", async () => {
    await target.expectAllSettled();
  });
});

tests.isComplete();
