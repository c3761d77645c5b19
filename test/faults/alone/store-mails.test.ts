import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AddressInfo } from "node:net";
import type { Failpoint } from "@millrace/core";
import { hookMesh } from "millrace";
import { expect, test } from "vitest";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { newFolder } from "../../support/new-folder.ts";
import store from "../../fixtures/store-mails/millrace.config.ts";
import { onOneBackend, openOn, type TestServers } from "../../support/backends.ts";
import { createPipeline, type Pipeline } from "../../support/pipeline.ts";
import { millrace } from "../../support/run-in-process.ts";
import { STORE_SECRETS } from "../../support/running-store.ts";
import { until } from "../../support/until.ts";
import { createReaper, createRole, type Role } from "../environment/role.ts";
import { reached, startAgain } from "../faults/strike-role.ts";

const CONFIG = fileURLToPath(
  new URL("../../fixtures/store-mails/millrace.config.ts", import.meta.url),
);

const STEPS: readonly (readonly [event: "order" | "mail", Failpoint])[] = [
  ["order", "worker.fetched"],
  ["order", "worker.handled"],
  ["order", "worker.commit_sent"],
  ["order", "worker.committed"],
  ["mail", "ledger.before_enqueue"],
  ["mail", "ledger.enqueued"],
  ["mail", "ledger.marked"],
  ["mail", "worker.fetched"],
  ["mail", "worker.recorded"],
  ["mail", "worker.before_call"],
  ["mail", "worker.step_ran"],
  ["mail", "worker.step_recorded"],
  ["mail", "worker.called"],
  ["mail", "worker.locked"],
  ["mail", "worker.handled"],
  ["mail", "worker.commit_sent"],
  ["mail", "worker.committed"],
];
const OF_BOTH = new Set<Failpoint>(
  STEPS.filter(([event]) => event === "order").map(([, failpoint]) => failpoint),
);
const SENT_UNRECORDED: Failpoint = "worker.step_ran";

onOneBackend("the example store mails a shipped order", (prepare) => {
  test("once, whenever its worker is killed; twice at one step, under one Message-ID", async () => {
    // Two stacks side by side: most of the time is a wait for the lock of the worker that was killed.
    const acks = ["queue", "ledger"] as const;
    const accounts = await Promise.all(
      acks.map(async (ack) => {
        const servers = await prepare();
        return await openOn(servers, () => killAtEachStep(servers, ack));
      }),
    );
    const expected = STEPS.map(([event, failpoint]) => ({
      ...{ event, failpoint, struck: true },
      sent: failpoint === SENT_UNRECORDED ? 2 : 1,
      messageIds: 1,
      ...{ mailEvents: ["completed"], mails: 1, shipments: 1 },
    }));
    expect(accounts).toEqual(acks.map((ack) => ({ ack, account: expected })));
  }, 900_000);
});

async function killAtEachStep(servers: TestServers, ack: "queue" | "ledger") {
  const mailServer = await startMailServer();
  const env = {
    ...{ MILLRACE_CONFIG: CONFIG, ...STORE_SECRETS },
    ...{ STORE_ACK: ack, SMTP_URL: mailServer.url },
  };
  const sources = { ...store.sources, hookmesh: hookMesh({ attempts: 8, ack }) };
  const pipeline = await createPipeline(servers, env, { ...store, sources });
  const worker = createRole({
    ...{ name: "worker", kind: "worker", logFile: join(newFolder(), "worker.log") },
    env: pipeline.env,
    onSpawn: createReaper().watch,
  });
  try {
    const ingress = await pipeline.startInProcess("ingress");
    await worker.start();
    const stack = { pipeline, mailServer, worker, ingressUrl: ingress.url };
    const account = [];
    for (const [index, step] of STEPS.entries()) account.push(await killAt(step, index, stack));
    return { ack, account };
  } finally {
    await worker.end("SIGKILL");
    await pipeline.stop();
    await mailServer.close();
    await servers.release();
  }
}

interface Stack {
  readonly pipeline: Pipeline;
  readonly mailServer: MailServer;
  readonly worker: Role;
  readonly ingressUrl: string;
}

async function killAt(
  [event, failpoint]: (typeof STEPS)[number],
  index: number,
  { pipeline, mailServer, worker, ingressUrl }: Stack,
) {
  const order = `order_${index}`;
  const id = `evt_${order}`;
  const ask = async <Row>(query: string, value: string) =>
    (await pipeline.database.query(query, [value])).rows as Row[];

  const strikes = () => worker.strikes.get(failpoint) ?? 0;
  const before = strikes();
  worker.arm(failpoint, { skip: event === "mail" && OF_BOTH.has(failpoint) ? 1 : 0 });
  // It answers what it was asked in turn: the failpoint is armed.
  await worker.measure();
  const set = [`payload.order_id=${order}`, `payload.email=${order}@example.com`];
  const sent = await millrace(
    [
      ...["send", "hookmesh", "order.shipped", "--id", id],
      ...set.flatMap((field) => ["--set", field]),
    ],
    { env: { ...pipeline.env, INGRESS_PORT: new URL(ingressUrl).port } },
  );
  expect(sent).toMatchObject({ code: 0 });
  const struck = await reached(() => strikes() > before);
  worker.disarm(failpoint);
  if (struck) await startAgain(worker);

  const emitted = () =>
    ask<{ status: string }>(
      `select status from millrace.events
       where source = 'mail' and parent_event_id = $1 and parent_generation = 0`,
      id,
    );
  const isCompleted = async () => {
    const events = await emitted();
    return events.length > 0 && events.every(({ status }) => status === "completed");
  };
  await until(isCompleted, {
    what: `the mail of ${id}, struck at ${failpoint}`,
  });
  const taken = mailServer.taken.filter(({ to }) => to === `${order}@example.com`);
  const recipient = `${order}@example.com`;
  return {
    ...{ event, failpoint, struck, sent: taken.length },
    messageIds: new Set(taken.map(({ messageId }) => messageId)).size,
    mailEvents: (await emitted()).map(({ status }) => status),
    mails: (await ask("select from store.mails where recipient = $1", recipient)).length,
    shipments: (await ask("select from store.shipments where order_id = $1", order)).length,
  };
}

type MailServer = Awaited<ReturnType<typeof startMailServer>>;

async function startMailServer() {
  const taken: { to: string; messageId: string | undefined }[] = [];
  const onData: SMTPServerOptions["onData"] = (stream, { envelope }, done) => {
    let text = "";
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => {
      const [, messageId] = /^Message-ID:\s*(<\S+>)/im.exec(text) ?? [];
      taken.push({ to: envelope.rcptTo.map(({ address }) => address).join(), messageId });
      done();
    });
  };
  // A client that is killed resets its connection.
  const server = new SMTPServer({ disabledCommands: ["AUTH", "STARTTLS"], onData });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
