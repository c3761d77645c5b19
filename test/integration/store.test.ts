import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { startStore } from "../support/running-store.ts";
import { reaches } from "../support/seen-events.ts";

onOneBackend("the example store", (prepare) => {
  const store = openForAll(async () => {
    const running = await startStore(await prepare());
    return { ...running, close: running.stop };
  });

  const run = (...args: string[]) => store.run(args);
  const send = (...args: string[]) => store.command("send", ...args);
  const rows = async (query: string) => (await store.database.query(query)).rows;
  const ends = (id: string, status: string) => reaches(store.database, id, status);
  const set = (...fields: string[]) => fields.flatMap((field) => ["--set", field]);

  test("--wait prints what became of an event, and exits with 1 unless it is completed", async () => {
    const done = await run(
      "send",
      "hookmesh",
      "carrier.added",
      ...set("payload.name=owl"),
      "--wait",
    );
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringMatching(/\ncompleted after 1 attempt\n$/),
    ]);
    const owl = ["order.shipped", "--id", "evt_owl_1", ...set("payload.carrier=heron")];
    const failed = await run("send", "hookmesh", ...owl, "--wait");
    const why = /failed after 1 attempt: .*Unknown carrier "heron".*\(permanent_error\)\n$/;
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringMatching(why)]);
    const retried = await run("retry", "hookmesh", "evt_owl_1", "--wait", "--json");
    expect([retried.code, JSON.parse(retried.stdout)]).toMatchObject([
      1,
      { retried: 1, event: { status: "failed", attempts: 2, last_error_code: "permanent_error" } },
    ]);
    await send("hookmesh", "carrier.added", ...set("payload.name=heron"));
    const replayed = await run("replay", "hookmesh", "evt_owl_1", "--wait");
    expect([replayed.code, replayed.stdout]).toEqual([
      0,
      "replayed hookmesh evt_owl_1 as generation 1\ncompleted after 1 attempt\n",
    ]);
    const early = await run(
      ...["send", "hookmesh", "subscription.created", ...set("payload.user_id=nobody")],
      ...["--wait", "--timeout", "1s"],
    );
    expect([early.code, early.stdout]).toEqual([
      1,
      expect.stringMatching(/still pending after 1 s and \d attempts?: .*not created yet/),
    ]);
  });

  test("the body of an event is written byte for byte, and one that is no text is dumped", async () => {
    await send("hookmesh", "user.created", "--id", "evt_body_1");
    await ends("evt_body_1", "completed");
    const written = await run("events", "hookmesh", "evt_body_1", "--body");
    const [row] = await rows(
      `select convert_from(b.body, 'UTF8') as body from millrace.events e
         join millrace.bodies b on (b.day, b.id) = (e.body_day, e.body_id) where event_id = 'evt_body_1'`,
    );
    expect(written.stdout).toBe(row?.body);
    await store.database.query(
      `update millrace.bodies b set body = '\\x22ff0022' from millrace.events e
        where (b.day, b.id) = (e.body_day, e.body_id) and event_id = 'evt_body_1'`,
    );
    const { stdout } = await run("events", "hookmesh", "evt_body_1");
    expect(stdout).toMatch(
      /payload\n {2}Not text\. All 4 bytes: millrace events \S+ \S+ --body <file>\n$/,
    );
    const unknown = await run("events", "hookmesh", "evt_none_1", "--body");
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("event_not_found")]);
  });

  test("a body that is given is sent as it is, and identified by its own id", async () => {
    const body = JSON.stringify({
      event_id: "evt_given_1",
      event_type: "payment.succeeded",
      payload: { payment_id: "pay_given", user_id: "user_9", amount: 7 },
    });
    const sent = await store.run(["send", "hookmesh", "--data", "-"], { stdin: body });
    expect(sent.stdout).toMatch(/^hookmesh payment\.succeeded evt_given_1\n200 /);
    await ends("evt_given_1", "completed");
    expect(await rows("select amount from store.payments where id = 'pay_given'")).toEqual([
      { amount: "7" },
    ]);
  });

  test("a payment that is sent twice and ten times at once is one payment", async () => {
    const payment = [
      ...["hookmesh", "payment.succeeded", "--id", "evt_pay_1"],
      ...set("payload.payment_id=pay_1", "payload.user_id=user_9", "payload.amount=5000"),
    ];
    await send(...payment);
    await ends("evt_pay_1", "completed");
    await send(...payment);
    await Promise.all(Array.from({ length: 10 }, () => send(...payment)));
    expect(await rows("select * from store.payments where id = 'pay_1'")).toEqual([
      { id: "pay_1", user_id: "user_9", amount: "5000", status: "completed" },
    ]);
    expect(await ends("evt_pay_1", "completed")).toMatchObject({ attempts: 1 });
  });

  test("every sample of every source is taken and completed", async () => {
    const samples = [
      ...["user.created", "payment.succeeded", "order.shipped"].map((type) => ["hookmesh", type]),
      ...["payment_intent.succeeded", "charge.refunded"].map((type) => ["stripe", type]),
      ...["push", "issues"].map((type) => ["github", type]),
      ["standard", "invoice.paid"],
    ] as const;
    for (const [index, [source, type]] of samples.entries()) {
      await send(source ?? "", type ?? "", "--id", `evt_sample_${index}`);
    }
    for (const index of samples.keys()) await ends(`evt_sample_${index}`, "completed");
    expect(await rows("select source, type from webhook_events where outcome = 'ignored'")).toEqual(
      [],
    );
  });
});
