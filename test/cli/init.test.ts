import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfig, loadHandlers } from "@millrace/service";
import { beforeAll, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { until } from "../support/until.ts";
import { millrace } from "../support/run-in-process.ts";
import { startMillrace, statusOf, type StartProcess } from "./start-process.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

const REPLAYED = '"generation":1,"type":"payment_intent.succeeded","status":"completed"';

const base = newFolder();
beforeAll(() => symlink(MODULES, join(base, "node_modules")));

test("what it writes runs as it stands: start, send, completed", { timeout: 180_000 }, async () => {
  const init = await millrace(["init", "shop"], { cwd: base });
  expect(init).toMatchObject({ code: 0, stderr: "" });
  expect(init.stdout).toContain("cd shop");
  expect(init.stdout).toContain("npx millrace send stripe payment_intent.succeeded");

  const folder = join(base, "shop");
  const env = {
    MILLRACE_CONFIG: join(folder, "millrace.config.ts"),
    MILLRACE_DATA_DIR: join(folder, ".millrace"),
  };
  const started = startMillrace(env.MILLRACE_DATA_DIR, env, ["--workers", "1", "--watch"]);
  try {
    await started.greeted();
    await expectLoadedAnew(join(folder, "handlers.ts"), { started, env });
    const sent = await millrace(["send", "stripe", "payment_intent.succeeded"], { env });
    expect(sent).toMatchObject({ code: 0 });
    const { database_url: url } = await started.run();
    const [, id = ""] = /payment_intent\.succeeded (\S+)/.exec(sent.stdout) ?? [];
    await until(async () => (await statusOf(url, id)) === "completed");
    const { stdout } = await millrace(["events", "--json"], { env });
    const [event] = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(event).toMatchObject({ source: "stripe", status: "completed", outcome: "handled" });
    await millrace(["replay", "stripe", id], { env });
    await until(async () =>
      (await millrace(["events", "--json"], { env })).stdout.includes(REPLAYED),
    );
  } finally {
    started.signal("SIGTERM");
    await started.ended;
  }
});

test("its lint preset finds what is not awaited", async () => {
  await millrace(["init", "lint"], { cwd: base });
  const folder = join(base, "lint");
  const lint = () => {
    const bin = join(MODULES, ".bin/oxlint");
    return spawnSync(bin, ["."], { cwd: folder, encoding: "utf8" });
  };
  expect(lint()).toMatchObject({ status: 0 });
  const handlers = await readFile(join(folder, "handlers.ts"), "utf8");
  expect(handlers).toContain("defineHandlers<typeof config, unknown>()");
  await writeFile(join(folder, "handlers.ts"), handlers.replace("await tx", "tx"));
  expect(lint().stdout).toContain("no-floating-promises");
});

test("every sender that it knows makes a project that loads", async () => {
  const { stdout } = await millrace(["providers", "--json"], { cwd: base });
  const lines = stdout.trimEnd().split("\n");
  const sources = lines.map((line): string => JSON.parse(line).name);
  expect(sources.length).toBeGreaterThan(40);
  await millrace(["init", "all", "--source", sources.join(",")], { cwd: base });
  const { config } = await loadConfig(join(base, "all", "millrace.config.ts"));
  expect(Object.keys(config.sources)).toEqual(sources);
  const handlers = await loadHandlers(config);
  expect(handlers.flatMap((handler) => handler.sources)).toEqual(sources);
});

test("nothing that is there is written over, and then nothing is written", async () => {
  const folder = join(base, "taken");
  await mkdir(folder);
  await writeFile(join(folder, "handlers.ts"), "// mine\n");
  const { code, stderr } = await millrace(["init"], { cwd: folder });
  expect(stderr).toMatch(/Cannot write a project .*handlers\.ts is there.*\(file_exists\)/s);
  expect(code).toBe(1);
  expect(await readdir(folder)).toEqual(["handlers.ts"]);
  expect(await readFile(join(folder, "handlers.ts"), "utf8")).toBe("// mine\n");
});

test("what git ignores already stays, and what is missing is added once", async () => {
  const folder = join(base, "ignored");
  await mkdir(folder);
  await writeFile(join(folder, ".gitignore"), "dist\nnode_modules");
  const { stdout } = await millrace(["init", "--json"], { cwd: folder });
  expect(JSON.parse(stdout)).toMatchObject({
    wrote: expect.arrayContaining(["millrace.config.ts", "tsconfig.json", ".gitignore"]),
    next: expect.arrayContaining(["npx millrace send stripe payment_intent.succeeded"]),
  });
  expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe(
    "dist\nnode_modules\n.env\n.millrace/\n",
  );
});

test("the list of senders says which are authenticated only", async () => {
  const { stdout } = await millrace(["providers"], { cwd: base });
  expect(stdout).toMatch(/^stripe +stripe\(\) +verified +signed$/m);
  expect(stdout).toMatch(/^okta +okta\(\) +authenticated only +unsigned$/m);
});

test("a sender that it does not know is told where they are listed", async () => {
  const { code, stderr } = await millrace(["init", "--source", "stripe,paypal"], { cwd: base });
  expect(stderr).toContain('"paypal" is not known');
  expect(stderr).toContain("`millrace providers` lists the senders");
  expect(code).toBe(2);
});

/** Saves handlers that cannot be read, then those that fail, then the first ones again. */
async function expectLoadedAnew(
  file: string,
  { started, env }: { started: StartProcess; env: Record<string, string> },
): Promise<void> {
  const handlers = await readFile(file, "utf8");
  await writeFile(file, "export default [");
  await until(() => started.output().includes("worker-1 restarts at the next change"));
  const failing = `on("stripe", "*", () => { throw new Error("saved"); })`;
  await writeFile(file, `import { on } from "millrace";\nexport default [${failing}];\n`);
  await millrace(["send", "stripe", "payment_intent.succeeded"], { env });
  await until(async () => (await millrace(["events"], { env })).stdout.includes("saved"));
  // Of two files that are saved at once, the config is the first.
  await writeFile(env["MILLRACE_CONFIG"] ?? "", "\n", { flag: "a" });
  await writeFile(file, handlers);
  await until(() => started.output().includes("All roles restart"));
  await until(async () => {
    const { stdout } = await millrace(["events", "--json"], { env });
    return stdout.includes('"status":"completed"');
  });
}
