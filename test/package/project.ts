export const PROJECT = {
  "millrace.config.ts": `import { defineConfig, stripe } from "millrace";

export default defineConfig({
  sources: { stripe: stripe() },
  handlers: () => import("./handlers.ts"),
  migrations: "./migrations",
});
`,
  "handlers.ts": `import { sql } from "drizzle-orm";
import { on } from "millrace";

export default [
  on("stripe", "payment_intent.succeeded", async (event, { tx }) => {
    const { id, amount_received: amount } = event.payload.data.object;
    await tx.execute(sql\`insert into payments values (\${id}, \${amount})\`);
  }),
];
`,
  "migrations/0001_payments.sql": "create table payments (id text primary key, amount int);\n",
};

export const CONSUMER = {
  "consumer.ts": `import { createServer } from "node:http";
import { on, PermanentError, defineConfig, MillraceError, type ErrorCode, type Receiver } from "millrace";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import setup from "millrace/testing/global-setup";
import config from "./millrace.config.ts";

export const handler = on<{ id: string }>("stripe", ["a", "b"], async (event, { tx, signal }) => {
  const id: string = event.payload.id;
  const rows = await tx.execute("select 1");
  if (rows.rowCount === 0 || signal.aborted) throw new PermanentError(id);
});
export const serve = (receiver: Receiver) =>
  createServer((request, response) => receiver.node(request, response, "stripe"));
export const router = (receiver: Receiver) => receiver.express();
export const code = (error: unknown): ErrorCode | undefined =>
  error instanceof MillraceError ? error.code : undefined;
export const environment: Promise<TestEnvironment> = createTestEnvironment(config);
export const teardown: Promise<() => Promise<void>> = setup();
// @ts-expect-error a source is made by a provider's function
defineConfig({ sources: { stripe: "stripe" } });
// @ts-expect-error a receiver is opened, and shows nothing of its stores
export const stores = (receiver: Receiver) => receiver.activeStores();
`,
  "check.mjs": `import { defineConfig, on, stripe } from "millrace";
import { deliver } from "millrace/testing";

const seen = [];
const handlers = [on("stripe", "*", (event) => void seen.push(event.payload.data.object.id))];
const config = defineConfig({ sources: { stripe: stripe() }, handlers });
const payload = { data: { object: { id: "pi_1" } } };
const { status } = await deliver(config, "stripe", "payment_intent.succeeded", payload);
console.log(JSON.stringify({ status, seen }));
`,
};

export const TRACED = `import * as sdk from "@opentelemetry/sdk-trace-node";
const exporter = new sdk.InMemorySpanExporter();
const spanProcessors = [new sdk.SimpleSpanProcessor(exporter)];
new sdk.NodeTracerProvider({ spanProcessors }).register();
const { defineConfig, hmac, openReceiver } = await import("millrace");
const config = defineConfig({ sources: { hooks: hmac({ header: "x-signature", id: "header:x-id" }) } });
const env = { DATABASE_URL: "postgres://127.0.0.1:1/none", HOOKS_WEBHOOK_SECRET: "a-long-secret" };
const receiver = await openReceiver(config, env);
const request = { source: "hooks", method: "POST", url: "/webhooks/hooks", headers: {} };
await receiver.receive({ ...request, body: Buffer.from("{}") });
console.log("spans:", exporter.getFinishedSpans().map(({ name }) => name).join(", "));
process.exit(0);
`;

export function tsconfig(moduleResolution: "nodenext" | "bundler"): string {
  const module = moduleResolution === "bundler" ? "esnext" : "nodenext";
  return JSON.stringify({
    compilerOptions: {
      ...{ module, moduleResolution, target: "es2023", strict: true, noEmit: true },
      // drizzle-orm's own types are for every driver, those that are not installed among them.
      ...{ allowImportingTsExtensions: true, skipLibCheck: true, types: ["node"] },
    },
    include: ["**/*.ts"],
  });
}
