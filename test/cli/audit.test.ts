import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { millrace } from "../support/run-in-process.ts";
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
    const listed = await run("audit", "--user", "tester", "--action", "pause", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject({ ...by, action: "pause", source: "patient" });
    const found = await run("audit", "--find", "by:tester action:pause since:1h Switch", "--json");
    expect(found.stdout).toBe(listed.stdout);
    for (const [find, cause] of [
      ["kind:pause", "`kind` is not among source, event, action, by, since, until"],
      ["since:soon", "since: must be a time"],
      ["source:patient", "`source:` is a filter of its own already"],
    ] as const) {
      const refused = await run("audit", "--find", find, "--source", "acme");
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(cause) });
    }
    const table = await run("audit", "--event", "evt_cli_1");
    expect(table.stdout).toMatch(
      /^WHEN .* WHY\n.* tester .*replay .*evt_cli_1 .*the switch is on\n/,
    );
    expect((await run("audit", "--user", "nobody")).stdout).toBe("No entry matches.\n");
  });

  test("lists each source with its events, its jobs, and its state", async () => {
    expect((await run("pause", "patient", "--json")).stdout).toBe(
      '{"source":"patient","paused":true}\n',
    );
    const { stdout } = await run("sources", "--json");
    const sources = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(sources).toContainEqual(
      expect.objectContaining({ source: "patient", paused: true, verified: true, refused: [] }),
    );
    expect((await run("sources")).stdout).toMatch(/\npatient +\S+ +paused +\d/);
    expect((await run("resume", "patient")).code).toBe(0);
  });

  test("opens the page of an event, by the address that DASHBOARD_URL has", async () => {
    const { stdout } = await millrace(["open", "acme", "a/b", "--print"], {
      env: { ...stores.options().env, DASHBOARD_URL: "https://hooks.example.com/ops" },
    });
    expect(stdout).toBe("https://hooks.example.com/ops/event?source=acme&id=a%2Fb\n");
  });
});
