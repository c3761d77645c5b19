import { changeError, createOperator, type Actor } from "@millrace/operations";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { key, type TestStores, useStores } from "../support/stores-fixture.ts";

const OPS: Actor = { user: "ops", role: "operator", via: "session", reason: "fixed the cause" };

onOneBackend("the audit", (prepare) => {
  const stores = useStores(prepare);

  const operator = (over: Partial<TestStores> = {}, actor = OPS) =>
    createOperator({ ...stores, ...over }, actor);
  const entries = async (limit = 50) => (await stores.ledger.audit.find({ limit })).entries;
  const last = async () => (await entries(1))[0];

  test("has who retried what and why, and what became of it", async () => {
    await stores.fail("evt_one_1");
    expect(await operator().retryEvent(key("evt_one_1"))).toEqual({ kind: "retried" });
    expect(await last()).toEqual({
      id: expect.stringMatching(/^\d+$/),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      ...{ actor: "ops", role: "operator", via: "session", action: "retry" },
      ...{ source: "acme", event_id: "evt_one_1", generation: 0, filter: null },
      ...{ reason: "fixed the cause", result: { retried: 1 } },
    });
    expect(await operator().retryEvent(key("evt_one_1"))).toMatchObject({ reason: "not_failed" });
    expect(await last()).toMatchObject({ action: "retry", result: { skipped: "not_failed" } });
  });

  test("has a replay with its generation, and one that was refused", async () => {
    await stores.fail("evt_two_1");
    const lookup = { source: "acme", eventId: "evt_two_1" };
    expect(await operator().replayEvent(lookup)).toMatchObject({ generation: 1 });
    expect(await last()).toMatchObject({
      ...{ action: "replay", generation: null, result: { replayed: 1, generation: 1 } },
    });
    await operator().replayEvent(lookup);
    expect(await last()).toMatchObject({ action: "replay", result: { skipped: "not_settled" } });
  });

  test("has the filter of many, as it was asked for, and none of a dry run", async () => {
    await stores.fail("evt_many_1");
    const before = await entries();
    const filter = { q: "evt_many", since: new Date("2026-01-31T12:00:00Z") };
    await operator().countRun("retry", { filter });
    await operator().countRun("replay", { filter });
    expect(await entries()).toEqual(before);
    const run = await operator().startRun("retry", { filter, limit: 10, ratePerSecond: 5 });
    expect(await last()).toMatchObject({
      ...{ action: "retry_many", source: null, event_id: null },
      filter: { q: "evt_many", since: "2026-01-31T12:00:00.000Z", limit: 10, rate: 5 },
      result: { run: run.id },
    });
    await expect(operator().startRun("replay", { filter: {} })).rejects.toThrow(
      "Cannot replay all",
    );
    expect(await last()).toMatchObject({
      ...{ action: "replay_many", filter: {}, result: { error: "invalid_request" } },
    });
  });

  test("has pauses and resumes, and those of no source", async () => {
    const { queues } = stores.queues;
    await operator().setPaused("patient", true);
    expect(await queues.get("patient")?.isPaused()).toBe(true);
    expect(await last()).toMatchObject({ action: "pause", source: "patient", event_id: null });
    await operator().setPaused("patient", false);
    expect(await queues.get("patient")?.isPaused()).toBe(false);
    expect(await last()).toMatchObject({ action: "resume", result: { paused: false } });
    await expect(operator().setPaused("stranger", true)).rejects.toMatchObject({
      code: "unknown_source",
    });
    expect(await last()).toMatchObject({ source: "stranger", result: { error: "unknown_source" } });
  });

  test("has a person's claim of an error that was resolved meanwhile as refused", async () => {
    await stores.fail("evt_owned_1");
    const { errors } = stores.ledger;
    const [{ fingerprint } = { fingerprint: "" }] = (await errors.find({ limit: 1 })).errors;
    const seenOpen = await errors.get(fingerprint);
    await errors.setState(fingerprint, { state: "resolved", by: "kim" });
    const ledger = { ...stores.ledger, errors: { ...errors, get: async () => seenOpen } };
    const change = changeError({ ledger, actor: OPS }, fingerprint, { mine: true });
    await expect(change).rejects.toMatchObject({ code: "error_not_open" });
    expect(await last()).toMatchObject({
      ...{ action: "set_error_state", result: { error: "error_not_open" } },
    });
  });

  test("is written before anything is done, and without it nothing is done", async () => {
    await stores.fail("evt_first_1");
    const seen: unknown[] = [];
    const queues: TestStores["queues"] = {
      ...stores.queues,
      ping: async () => {
        seen.push(await last());
        await stores.queues.ping();
      },
    };
    const away = () => Promise.reject(new Error("no audit"));
    const silent = { ...stores.ledger, audit: { ...stores.ledger.audit, begin: away } };
    const acts = createOperator({ ledger: silent, queues }, OPS);
    const before = await entries();
    for (const act of [
      acts.retryEvent(key("evt_first_1")),
      acts.replayEvent(key("evt_first_1")),
      acts.startRun("retry", { filter: { q: "evt_first" } }),
      acts.changeRun(1, { rate: 5 }),
      ...[acts.setPaused("acme", true), acts.setPaused("acme", false)],
    ]) {
      await expect(act).rejects.toThrow("no audit");
    }
    expect([await entries(), seen]).toEqual([before, []]);
    expect(await stores.row("evt_first_1")).toMatchObject({ status: "failed" });
    expect(await stores.queues.queues.get("acme")?.isPaused()).toBe(false);

    await operator({ queues }).retryEvent(key("evt_first_1"));
    expect(seen).toMatchObject([{ action: "retry", event_id: "evt_first_1", result: null }]);
  });

  test("whose result cannot be written has none, and what was done is told", async () => {
    await stores.fail("evt_after_1");
    const end = () => Promise.reject(new Error("gone"));
    const mute = { ...stores.ledger, audit: { ...stores.ledger.audit, end } };
    const result = await operator({ ledger: mute }).retryEvent(key("evt_after_1"));
    expect(result).toEqual({ kind: "retried" });
    expect(await last()).toMatchObject({ event_id: "evt_after_1", result: null });
  });

  test("is only added to: nobody changes, deletes or ends an act twice", async () => {
    const before = await entries();
    for (const text of [
      "update millrace.audit set actor = 'nobody'",
      "update millrace.audit set result = '{}'",
      "update millrace.audit_results set result = '{}'",
      "delete from millrace.audit",
      "delete from millrace.audit_results",
      "truncate millrace.audit cascade",
    ]) {
      await expect(stores.ask(text), text).rejects.toMatchObject({ code: "MR004" });
    }
    const id = before.find(({ result }) => result !== null)?.id ?? "";
    await stores.ledger.audit.end(id, { retried: 47 });
    expect(await entries()).toEqual(before);
  });

  test("loses old acts with their results where its owner says so, as the documents show", async () => {
    const before = (await entries(200)).length;
    await stores.ask(
      `begin; set local millrace.delete_audit = 'on';
       delete from millrace.audit where id = (select min(id) from millrace.audit); commit`,
    );
    expect((await entries(200)).length).toBe(before - 1);
    const left =
      "select from millrace.audit_results where id < (select min(id) from millrace.audit)";
    expect(await stores.ask(left)).toEqual([]);
  });

  test("holds names that no event has: with a NUL, half a character, or no end", async () => {
    const names = ["a\0b", "half \ud83d", "é".repeat(4_000)];
    for (const eventId of names) {
      const nobody: Actor = { ...OPS, user: eventId, reason: eventId };
      await operator({}, nobody).retryEvent({ source: "acme", eventId });
    }
    const many = operator().startRun("retry", { filter: { q: "a\0 \ud83d" } });
    await expect(many).rejects.toMatchObject({ code: "invalid_request" });
    expect(await last()).toMatchObject({ filter: { q: "a\u{FFFD} \u{FFFD}" } });
    const [long, half, nul] = (await entries(4)).slice(1);
    expect([nul?.event_id, half?.actor]).toEqual(["a\u{FFFD}b", "half \u{FFFD}"]);
    expect(Buffer.byteLength(long?.event_id ?? "")).toBeLessThanOrEqual(1_024);
    expect(long?.result).toEqual({ skipped: "not_found" });
  });

  test("is read newest first, page by page, of all or of one event", async () => {
    const all = await entries(200);
    expect(all.length).toBeGreaterThan(12);
    const ids = all.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((one, other) => other - one));
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await stores.ledger.audit.find({ limit: 5, cursor });
      paged.push(...page.entries.map(({ id }) => id));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(paged).toEqual(all.map(({ id }) => id));
    const of = await stores.ledger.audit.find({ source: "acme", eventId: "evt_two_1", limit: 50 });
    expect(of.entries.map(({ action }) => action)).toEqual(["replay", "replay"]);
    expect((await stores.ledger.audit.find({ source: "a\0", limit: 1 })).entries).toEqual([]);
    for (const wrong of ["x", "-1", "1e3", "9".repeat(30)]) {
      const asked = stores.ledger.audit.find({ limit: 1, cursor: wrong });
      await expect(asked).rejects.toMatchObject({ code: "invalid_request" });
    }
    const words = ["EVT_TWO_1", "replay"];
    const { entries: found, next } = await stores.ledger.audit.find({ words, limit: 1 });
    expect(found).toMatchObject([{ action: "replay", event_id: "evt_two_1" }]);
    const rest = await stores.ledger.audit.find({ words, limit: 1, cursor: next ?? "" });
    expect(rest.entries).toMatchObject([{ action: "replay", event_id: "evt_two_1" }]);
    const since = new Date(Date.now() + 60_000);
    for (const none of [{ since }, { words: ["no such word"] }]) {
      const page = await stores.ledger.audit.find({ ...none, limit: 50 });
      expect(page).toEqual({ entries: [], next: null });
    }
  });
});
