import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { BIN } from "../support/millrace-process.ts";
import { millrace } from "../support/run-in-process.ts";

const complete = (...words: string[]) => completeIn(".", ...words);

function completeIn(cwd: string, ...words: string[]): string[] {
  const { stdout, status } = spawnSync(process.execPath, [BIN, "complete", "--", ...words], {
    ...{ cwd, encoding: "utf8" },
  });
  expect(status).toBe(0);
  return stdout
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "")
    .filter((word) => word !== "" && !word.startsWith(":"));
}

test("commands, their options and the words these take are completed", () => {
  expect(complete("re")).toEqual(["retry", "replay", "resume", "restored", "retention"]);
  expect(complete("events", "--st")).toEqual(["--status"]);
  expect(complete("events", "--status", "")).toEqual(["pending", "completed", "failed", "ignored"]);
});

test("a source is completed by the names of the config, and by none where there is no config", () => {
  expect(complete("pause", "str")).toEqual(["stripe"]);
  expect(complete("send", "")).toContain("github");
  expect(complete("verify", "--source", "str")).toEqual(["stripe"]);
  expect(completeIn("/", "events", "")).toEqual([]);
});

test.each(["bash", "zsh", "fish"])("the script for %s asks the command itself", (shell) => {
  const { stdout } = spawnSync(process.execPath, [BIN, "completion", shell], { encoding: "utf8" });
  expect(stdout).toContain("millrace complete --");
});

test("bash can read its script", () => {
  const { stdout } = spawnSync(process.execPath, [BIN, "completion", "bash"], { encoding: "utf8" });
  const read = spawnSync("bash", ["-n"], { input: stdout, encoding: "utf8" });
  expect({ status: read.status, stderr: read.stderr }).toEqual({ status: 0, stderr: "" });
});

test("a shell that is none is a mistake", async () => {
  const { code, stderr } = await millrace(["completion", "dos"]);
  expect(stderr).toContain("Allowed choices are zsh, bash, fish, powershell");
  expect(code).toBe(2);
});
