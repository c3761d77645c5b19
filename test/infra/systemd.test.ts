import { spawnSync } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentSchema } from "@millrace/core";
import { expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { describeWith } from "../support/programs.ts";
import { timesToStop } from "./compose-file.ts";
import { ROOT } from "./context.ts";

const UNITS = join(ROOT, "infra/systemd");
const isUnit = (file: string) => file.endsWith(".service");

test("each role has a unit with its variables, and more time to stop than it takes", async () => {
  const times = await timesToStop();
  const roles = { "ingress@": "ingress", "worker@": "worker", dashboard: "dashboard" };
  for (const [unit, role] of Object.entries(roles)) {
    const text = await readFile(join(UNITS, `millrace-${unit}.service`), "utf8");
    expect(text).toContain(`EnvironmentFile=/etc/millrace/${role}.env\n`);
    expect(text).toContain(` node_modules/.bin/millrace ${role}\n`);
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(text) ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThan(times[role] ?? Infinity);
    const [, variable = "HOST"] = /^Environment=(\w+)=%i$/m.exec(text) ?? [];
    expect(Object.keys(environmentSchema.shape)).toContain(variable);
  }
});

describeWith("systemd-analyze", "the units", () => {
  test("are valid, and each is closed up", async () => {
    const folder = newFolder();
    await cp(UNITS, folder, { recursive: true });
    const units = (await readdir(folder)).filter(isUnit);
    expect(units).toHaveLength(4);
    for (const unit of units) {
      const text = await readFile(join(folder, unit), "utf8");
      await writeFile(join(folder, unit), text.replace("/usr/bin/node", process.execPath));
      const analyze = (...args: string[]) =>
        spawnSync("systemd-analyze", [...args, join(folder, unit)], { encoding: "utf8" });
      const { status, stderr } = analyze("verify");
      expect([status, stderr.includes(folder) && stderr]).toEqual([0, false]);
      // From 0 to 100, where 96 is a unit that says nothing.
      const closed = analyze("security", "--offline=true", "--threshold=20", "--no-pager");
      expect([unit, closed.status]).toEqual([unit, 0]);
    }
  });
});
