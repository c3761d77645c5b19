import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort, serve } from "../support/free-port.ts";
import { runProgram } from "../support/millrace-process.ts";
import { ROOT } from "./context.ts";

const SCRIPT = join(ROOT, "infra", "healthcheck.mjs");

const check = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  runProgram(process.execPath, [SCRIPT, ...args], env, { ipc: false });

test.each([
  ["ingress", "INGRESS_PORT", 200, 0],
  ["dashboard", "DASHBOARD_PORT", 200, 0],
  ["worker", "WORKER_PORT", 503, 1],
])(
  "asks %s at the port of %s, and after %i exits with %i",
  async (role, variable, status, code) => {
    const { port, close } = await serve((request, response) => {
      response.writeHead(request.url === "/readyz" ? status : 404).end("said so");
    });
    onTestFinished(close);
    const output = `${role} /readyz ${status} said so\n`;
    expect(await check(["/readyz", role], { [variable]: String(port) })).toEqual({ code, output });
  },
);

test("fails when nobody listens, or there is no such role, and says so", async () => {
  const port = String(await freePort());
  const { code, output } = await check(["/healthz", "ingress"], { INGRESS_PORT: port });
  expect([code, output]).toEqual([1, expect.stringContaining("ECONNREFUSED")]);
  expect(await check(["/healthz", "toString"], {})).toEqual({
    code: 1,
    output: 'Cannot check "toString": no such role\n',
  });
});

test("finds the role in the command line of the container, also behind an init", async () => {
  const { roleOf } = (await import(SCRIPT)) as { roleOf(line: string): string | undefined };
  const bin = "apps/cli/bin/millrace.mjs";
  expect(roleOf(["node", bin, "worker", ""].join("\0"))).toBe("worker");
  expect(roleOf(["/sbin/docker-init", "--", "node", bin, "ingress", ""].join("\0"))).toBe(
    "ingress",
  );
  expect(roleOf(["node", bin, "migrate", ""].join("\0"))).toBe(undefined);
});
