import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { openTestCommand } from "./cli-fixture.ts";

onOneBackend("what the command does", (prepare) => {
  const stores = openForAll(async () => openTestCommand(await prepare()));
  const run = (...args: string[]) => stores.run(...args);
  const last = async () => (await stores.ledger.audit.find({ limit: 1 })).entries[0];

  test("is audited under the name of who ran it, with the reason", async () => {
    await stores.fail("evt_cli_1");
    await stores.fail("evt_cli_2");
    const RUN = { run: expect.any(Number) };
    const why = ["--reason", "the switch is on"];
    const by = { actor: "tester", role: "operator", via: "cli", reason: "the switch is on" };
    for (const [args, code, entry] of [
      [["retry", "acme", "evt_cli_1"], 0, { action: "retry", event_id: "evt_cli_1" }],
      [
        ["replay", "acme", "evt_cli_1"],
        1,
        { action: "replay", result: { skipped: "not_settled" } },
      ],
      [["retry", "--q", "evt_cli_2", "--no-wait"], 0, { action: "retry_many", result: RUN }],
      [["replay", "--q", "evt_cli_1", "--no-wait"], 0, { action: "replay_many", result: RUN }],
      [["runs", "rate", "1", "7"], 0, { action: "bulk_run", filter: { run: 1, rate: 7 } }],
      [["runs", "stop", "1"], 0, { action: "bulk_run", result: { state: "stopped" } }],
      [["pause", "patient"], 0, { action: "pause", source: "patient" }],
      [["resume", "patient"], 0, { action: "resume", source: "patient" }],
    ] as const) {
      const outcome = await run(...args, ...why);
      expect([args, outcome.code, outcome.stderr]).toEqual([args, code, ""]);
      expect(await last()).toMatchObject({ ...by, ...entry });
    }
    expect((await run("resume", "patient")).code).toBe(0);
    expect(await last()).toMatchObject({ ...by, reason: null });
    const { stderr } = await run("pause", "patient", "--reason", " ");
    expect(stderr).toContain("1 to 500 characters");
  });
});
