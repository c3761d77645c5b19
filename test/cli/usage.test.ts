import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { freePort } from "../support/free-port.ts";
import { BIN } from "../support/millrace-process.ts";
import { millrace, STORE_CONFIG } from "../support/run-in-process.ts";
import { doctorConfig } from "./cli-fixture.ts";

const folder = newFolder();

describe("help", () => {
  const COMMANDS = [
    ...["init", "start", "ingress", "worker", "dashboard", "migrate", "send", "events", "retry"],
    ...["providers", "replay", "give-up", "pause", "resume", "doctor", "retention", "completion"],
  ];

  test.each(COMMANDS)("of %s has an example and ends well", async (command) => {
    const { code, stdout, stderr } = await millrace([command, "--help"]);
    expect(stdout).toContain(`Usage: millrace ${command}`);
    expect(stdout).toMatch(/Examples?:\n {2}\$ .*millrace/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("of the command itself names all of them", async () => {
    const { code, stdout } = await millrace(["--help"]);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, "m"));
    expect(code).toBe(0);
  });

  test("of the command itself names the page of the variables, in lines that fit", async () => {
    const { stdout } = await millrace(["--help"]);
    expect(stdout).toContain("docs/configuration.md#environment");
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test("of a command that there is not is an error", async () => {
    const { code, stdout, stderr } = await millrace(["help", "nosuch"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("unknown command 'nosuch' (invalid_request)");
  });

  test.skipIf(!existsSync("/dev/full"))(
    "whose reader's disk is full says so and fails (needs /dev/full)",
    () => {
      const command = `"$0" "$@" > /dev/full`;
      const args = ["-c", command, process.execPath, BIN, "--help"];
      const { status, stderr } = spawnSync("sh", args, { encoding: "utf8" });
      expect(stderr).toBe("Cannot write: ENOSPC: no space left on device, write\n");
      expect(status).toBe(1);
    },
  );

  test("is shown when no command is given, which is a mistake", async () => {
    const { code, stderr } = await millrace([]);
    expect(stderr).toContain("Usage: millrace");
    expect(code).toBe(2);
  });

  test("the version is the package's", async () => {
    expect((await millrace(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a wrong command line ends with 2 and says", () => {
  test.each([
    [["strat"], "millrace: unknown command 'strat' (invalid_request)\n(Did you mean start?)"],
    [["strat", "--help"], "unknown command 'strat'"],
    [["send"], "missing required argument 'source'"],
    [["send", "stripe", "a", "b"], "too many arguments"],
    [["send", "stripe", "--cuont", "2"], "(Did you mean --count?)"],
    [["send", "stripe", "--count", "0"], "whole number, 1 to"],
    [["send", "stripe", "--set", "carrier"], "field=value"],
    [["start", "--workers", "none"], "whole number, 1 to 64"],
    [["events", "--status", "done"], "choices are pending, completed, failed"],
    [["events", "--since", "yesterday"], "an age (15m, 1h, 7d)"],
    [["events", "--status", "ignored", "--outcome", "handled"], "give --status ignored or"],
    [["retry", "evt_1"], "one event needs its source and its id: millrace retry <source> <id>"],
    [["events", "stripe", "--body"], "--body needs one event"],
    [["send", "stripe", "--count", "2", "--wait"], "--wait needs one event"],
    [["retry", "stripe", "evt_1", "--no-wait"], "--no-wait is for many events"],
    [["replay", "stripe", "evt_1", "--timeout", "5s"], "--timeout needs --wait"],
    [["retry", "stripe", "evt_1", "--wait", "--timeout", "soon"], "a length of time (30s, 5m)"],
  ])("%j", async (args, words) => {
    const { code, stderr } = await millrace(args);
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^millrace: .*\(invalid_request\)$/m);
    expect(stderr).toContain("--help");
    expect(code).toBe(2);
  });
});

describe("a command that cannot work ends with 1 and says", () => {
  const store = { MILLRACE_CONFIG: STORE_CONFIG };
  const internal = { MILLRACE_CONFIG: doctorConfig("internal") };

  test.each<[string, string[], Record<string, string>, string]>([
    ["no config", ["send", "stripe"], {}, "config_not_found"],
    ["a port that is none", ["events"], { INGRESS_PORT: "http" }, "invalid_config"],
    ["no database", ["events"], {}, "database_unreachable"],
    ["no database", ["retry", "stripe", "evt_1"], store, "database_unreachable"],
    ["no database", ["migrate"], store, "database_unreachable"],
    ["an unknown source", ["send", "strip"], store, "unknown_source"],
    ["an internal source", ["send", "mail"], internal, "unknown_source"],
    ["no secret", ["send", "stripe"], store, "missing_secret"],
    ["a URL that is none", ["send", "stripe", "--url", "localhost"], store, "invalid_request"],
    ["a file that is not there", ["send", "stripe", "--data", "no"], store, "invalid_request"],
  ])("%s: %j", async (_title, args, env, code) => {
    const secret = code === "invalid_request" ? { STRIPE_WEBHOOK_SECRET: "whsec_a" } : {};
    const outcome = await millrace(args, { env: { ...env, ...secret }, cwd: folder });
    expect(outcome.stderr).toMatch(
      new RegExp(
        `^millrace: Cannot .*\\(${code}\\)(:\\n .*)?\\nSee docs/errors.md#${code}\\n$`,
        "s",
      ),
    );
    expect(outcome.stderr).not.toMatch(/\n\s+at /);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
  });

  test("a database that is down, within seconds", async () => {
    const env = { DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/none` };
    const { code, stderr } = await millrace(["events"], { env, cwd: folder });
    expect(stderr).toMatch(
      /^millrace: Cannot .*ECONNREFUSED.* \(database_unavailable\)\nSee .*\n$/,
    );
    expect(code).toBe(1);
  });

  test("no ingress, and how to get one", async () => {
    const env = {
      ...store,
      GITHUB_WEBHOOK_SECRET: "a-github-secret",
      INGRESS_PORT: String(await freePort()),
    };
    const { code, stderr } = await millrace(["send", "github", "push"], { env, cwd: folder });
    expect(stderr).toContain("Is `npm start` (or `millrace start`) running?");
    expect(stderr).toContain("(ingress_unreachable)");
    expect(code).toBe(1);
  });

  test("the stack only when the log level asks for it", async () => {
    const config = join(folder, "broken.config.ts");
    await writeFile(config, "throw new Error('no luck')");
    const env = { MILLRACE_CONFIG: config };
    const quiet = await millrace(["send", "stripe"], { env });
    expect(quiet.stderr).toMatch(
      /^millrace: .*no luck \(.*broken\.config\.ts:1:\d+\) \(invalid_config\)\nSee .*\n$/,
    );
    const loud = await millrace(["send", "stripe"], { env: { ...env, LOG_LEVEL: "debug" } });
    expect(loud.stderr).toMatch(/\n\s+at /);
  });
});

test("a file .env is honoured, and the real environment goes before it", async () => {
  await writeFile(join(folder, ".env"), "INGRESS_PORT=from-the-file\nMILLRACE_CONFIG=none.ts\n");
  const sendWith = (env: Record<string, string>) =>
    spawnSync(process.execPath, [BIN, "send", "stripe"], { cwd: folder, env, encoding: "utf8" });
  const fromFile = sendWith({});
  expect(fromFile.stderr).toContain("INGRESS_PORT");
  expect(fromFile.status).toBe(1);
  const fromBoth = sendWith({ INGRESS_PORT: "3000" });
  expect(fromBoth.stderr).toMatch(/none\.ts.*\(config_not_found\)\nSee .*\n$/);
  expect(fromBoth.stdout).toBe("");
});

test("a reader that goes away is no error", async () => {
  const line = `"${process.execPath}" "${BIN}" --help | head -n 1`;
  const { stdout, stderr } = spawnSync("sh", ["-c", line], { encoding: "utf8" });
  expect(stdout).toBe("Usage: millrace [options] [command]\n");
  expect(stderr).toBe("");
});
