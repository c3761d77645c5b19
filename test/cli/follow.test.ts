import { expect, test } from "vitest";
import { openTestStores, key } from "../support/stores-fixture.ts";
import { onOneBackend } from "../support/backends.ts";
import { age } from "../support/aged-events.ts";
import { openForAll } from "../support/open-for.ts";
import { event } from "../support/queue-fixture.ts";
import { environmentOf } from "../support/server-urls.ts";
import { until } from "../support/until.ts";
import { millrace, startCommand, STORE_CONFIG } from "../support/run-in-process.ts";

const GAVE_UP = { code: "gave_up", message: "the queue gave it up", run: "r1" } as const;

interface Line {
  readonly event_id: string;
  readonly status: string;
}

onOneBackend("millrace events --follow", (prepare) => {
  const stores = openForAll(async () => openTestStores(await prepare()));
  const env = () => ({ ...environmentOf(stores.servers), MILLRACE_CONFIG: STORE_CONFIG });
  const run = (...args: string[]) => millrace(args, { env: env() });

  async function following(
    args: readonly string[],
    during: (lines: () => readonly string[]) => Promise<void>,
  ): Promise<number> {
    const command = startCommand(["events", "--follow", ...args], {
      env: { DATABASE_URL: stores.servers.databaseUrl },
    });
    try {
      await during(() => command.written.stdout.split("\n").slice(0, -1));
    } finally {
      command.stop();
    }
    return (await command.ended).code;
  }
  const parsed = (lines: readonly string[]) =>
    lines.map((line) => JSON.parse(line) as Line).map((line) => [line.event_id, line.status]);

  test("tells the newest, then each that comes, and again when it has ended", async () => {
    for (const id of ["evt_1", "evt_2", "evt_3"]) await stores.ledger.intake.accept([event(id)]);
    const code = await following(["--json", "--limit", "2"], async (lines) => {
      await until(() => lines().length >= 2);
      expect(parsed(lines())).toEqual([
        ["evt_2", "pending"],
        ["evt_3", "pending"],
      ]);
      await stores.fail("evt_4");
      await until(() => lines().some((line) => line.includes('"failed"')));
      const ofFourth = parsed(lines()).slice(2);
      // It may have failed before it was looked at.
      expect(ofFourth.filter(([, status]) => status !== "pending")).toEqual([["evt_4", "failed"]]);
      expect(ofFourth.every(([id]) => id === "evt_4")).toBe(true);
    });
    expect(code).toBe(0);
  });

  test("with a filter tells what comes to match it, however old it is", async () => {
    await stores.ledger.intake.accept([event("evt_old")]);
    await age(stores.pool, 3, "evt_old");
    const code = await following(["--status", "failed", "--q", "evt_o"], async (lines) => {
      await stores.fail("evt_other");
      await until(() => lines().length >= 1);
      await stores.ledger.claims.abandonEvent(key("evt_old"), GAVE_UP);
      await until(() => lines().length >= 2);
      expect(lines()[0]).toMatch(/^[\d:.]{12} {2}failed +acme +evt_other .*the switch is off$/);
      expect(lines()[1]).toMatch(/^[\d:.]{12} {2}failed +acme +evt_old /);
    });
    expect(code).toBe(0);
  });

  test("a list of a source that the config does not have names the nearest one", async () => {
    const wrong = await run("events", "--source", "hookmsh");
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining('Did you mean "hookmesh"?'),
    ]);
    const known = await run("events", "--source", "hookmesh");
    expect([known.code, known.stdout]).toEqual([0, "No event matches.\n"]);
    const ignored = await run("events", "--status", "ignored");
    expect([ignored.code, ignored.stdout]).toEqual([0, "No event matches.\n"]);
  });

  test("the beginning of a fingerprint is enough, and one that no error has is refused", async () => {
    await stores.fail("evt_error_1");
    const { stdout } = await run("events", "--q", "evt_error_1", "--json");
    const { fingerprint } = JSON.parse(stdout) as { fingerprint: string };
    for (const error of [fingerprint, fingerprint.slice(0, 12)]) {
      const found = await run("events", "--error", error, "--q", "evt_error_1");
      expect([found.code, found.stdout]).toEqual([0, expect.stringContaining("evt_error_1")]);
      const counted = await run("retry", "--error", error, "--dry-run");
      expect([counted.code, counted.stderr]).toEqual([0, ""]);
    }
    for (const command of ["events", "retry", "replay", "give-up"]) {
      const wrong = await run(command, "--error", "1-nosuch");
      expect([command, wrong.code, wrong.stdout]).toEqual([command, 1, ""]);
      expect(wrong.stderr).toContain("(error_not_found)");
    }
  });
});
