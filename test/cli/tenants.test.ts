import { fileURLToPath } from "node:url";
import { twilio } from "@millrace/providers";
import { loadConfig } from "@millrace/service";
import { expect, test } from "vitest";
import { startTestIngress } from "../intake/test-ingress.ts";
import { millrace } from "../support/run-in-process.ts";

const MILLRACE_CONFIG = fileURLToPath(
  new URL("../fixtures/tenants/millrace.config.ts", import.meta.url),
);

const run = (stdin: string, ...args: string[]) =>
  millrace(args, { env: { MILLRACE_CONFIG, MILLRACE_DATA_DIR: "/nowhere" }, stdin });

test("millrace send signs with the tenant's secret, and posts to its URL", async () => {
  const { config } = await loadConfig(MILLRACE_CONFIG);
  const { port, store } = await startTestIngress({}, config);
  const send = (...args: string[]) => run("", "send", ...args, "--url", `http://127.0.0.1:${port}`);
  const sent = await send("pay", "invoice.paid", "--tenant", "acme", "--id", "evt_1");
  expect(sent).toMatchObject({ code: 0, stderr: "" });
  expect(sent.stdout).toMatch(/^pay invoice.paid acme\/evt_1\n/);
  expect(await send("phone", "--tenant", "acme", "--id", "SM1")).toMatchObject({ code: 0 });
  expect([...store.events.keys()]).toEqual(["pay/acme/evt_1", "phone/acme/SM1"]);
  for (const [args, message] of [
    [["pay"], "name one of its tenants by --tenant"],
    [["pay", "--tenant", "nobody"], 'its `secrets` returns none for "nobody"'],
    [["pay", "--tenant", "a/b"], "It must match ^[A-Za-z0-9_-]{1,64}$."],
  ] as const) {
    expect((await send(...args)).stderr).toContain(message);
  }
});

test("millrace verify checks a delivery with the secret and the URL of its tenant", async () => {
  const verify = (stdin: string, tenant: string) =>
    run(stdin, "verify", "--source", "phone", "--tenant", tenant, "--request", "-");
  const body = "MessageSid=SM1";
  const { sign } = twilio({ url: "https://hooks.example.com/webhooks/phone/acme" }).provider;
  const request = { eventId: "SM1", type: "t", body: Buffer.from(body), nowMs: Date.now() };
  const headers = Object.entries(sign({ ...request, secret: "whsec_secret-of-acme" }));
  const lines = ["POST /webhooks/phone/acme HTTP/1.1", ...headers.map((pair) => pair.join(": "))];
  const stdin = `${lines.join("\r\n")}\r\n\r\n${body}`;
  expect(await verify(stdin, "acme")).toMatchObject({ code: 0 });
  expect((await verify(stdin, "nobody")).stderr).toContain("returns none for");
});

test("millrace doctor asks for no secret of a source with tenants", async () => {
  const { stdout } = await run("", "doctor");
  expect(stdout).toContain("0 set, 0 made by `millrace start`, 2 read for each tenant");
});
