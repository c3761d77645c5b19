import { afterAll, afterEach, beforeAll, inject, test } from "vitest";
import { onEachBackend, type Ground } from "../support/backends.ts";
import { bodies } from "./bodies.ts";
import { createBooks } from "./book.ts";
import { dashboard } from "./dashboard.ts";
import { edge } from "./edge.ts";
import { flood } from "./flood.ts";
import { handlers } from "./handlers.ts";
import { identities } from "./identities.ts";
import { jobs } from "./jobs.ts";
import { memory } from "./memory.ts";
import { secrets } from "./secrets.ts";
import { signatures } from "./signatures.ts";
import { slowSenders } from "./slow-senders.ts";
import { createStage, type Stage } from "./stage.ts";
import { timestamps } from "./timestamps.ts";

const books = createBooks();

onEachBackend("bad input", (prepare, backend) => {
  const isMain = backend === (inject("hasRedis") ? "redis" : "postgres");
  const book = books.on({ isMain });
  let ground: Ground;
  let stage: Stage;

  beforeAll(async () => {
    ground = await prepare();
    stage = await createStage(ground);
  });
  afterEach(() => stage.stillWorks());
  afterAll(async () => {
    await stage?.close();
    await ground?.release();
  });

  for (const section of [signatures, timestamps, bodies, slowSenders, identities, edge, flood]) {
    section(book, () => stage);
  }
  for (const section of [dashboard, jobs, handlers]) section(book, () => stage);
  if (isMain) memory(() => stage);
  // Last, for they look at what all the others have left.
  secrets(book, () => stage);
  test("the ledger holds what was acknowledged, settled once, and nothing else", async () => {
    await stage.account();
  });
});

books.isComplete();
