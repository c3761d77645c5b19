import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe.each(["scripts/pack.mjs", "scripts/try-fresh-clone.mjs", "test/bench/run.mjs"])(
  "%s",
  (script) => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [script, ...args], { cwd: ROOT, encoding: "utf8" });

    test("has help", () => {
      const { status, stdout, stderr } = run("--help");
      expect(stdout).toContain("Usage: ");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    });

    test("tells a mistake in one line, and does nothing", () => {
      for (const args of [["--bogus"], ["bogus"]]) {
        const { status, stdout, stderr } = run(...args);
        expect(stderr).toMatch(/^[^\n]*bogus[^\n]*\. Try --help\n$/);
        expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      }
    });
  },
);
