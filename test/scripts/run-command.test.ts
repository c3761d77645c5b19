import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { until } from "../support/until.ts";

const module = fileURLToPath(new URL("../../scripts/run-command.mjs", import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

test("the command's code becomes ours", async () => {
  const { child } = run("process.exit(7)");
  expect(await once(child, "exit")).toEqual([7, null]);
});

test("a command that dies of a signal gives 128 and its number", async () => {
  const { child } = run('process.kill(process.pid, "SIGKILL")');
  expect(await once(child, "exit")).toEqual([137, null]);
});

test("a press of Ctrl-C that comes twice is passed on once", async () => {
  const { child, said } = run(COUNTS_SIGNALS);
  await until(() => said().includes("ready"));
  child.kill("SIGINT");
  child.kill("SIGINT");
  child.kill("SIGTERM");
  await once(child, "exit");
  expect(said()).toMatch(/^ready\n(SIGINT\n)?SIGTERM\n$/);
});

test("a second press is passed on as well", async () => {
  const { child, said } = run(COUNTS_SIGNALS);
  await until(() => said().includes("ready"));
  child.kill("SIGINT");
  await until(() => said().includes("SIGINT"));
  await until(() => {
    child.kill("SIGINT");
    return (said().match(/SIGINT/g)?.length ?? 0) > 1;
  });
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([3, null]);
});

const COUNTS_SIGNALS = `
  process.on("SIGINT", () => console.log("SIGINT"));
  process.on("SIGTERM", () => { console.log("SIGTERM"); process.exit(3); });
  setInterval(() => {}, 1_000);
  console.log("ready");`;

function run(program: string): { child: ChildProcess; said: () => string } {
  const source = `
    const { runCommand } = await import(${JSON.stringify(module)});
    const args = ["-e", ${JSON.stringify(program)}];
    const { code } = await runCommand(process.execPath, args, { detached: true });
    process.exit(code);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let text = "";
  child.stdout.on("data", (data: Buffer) => (text += data.toString()));
  return { child, said: () => text };
}
