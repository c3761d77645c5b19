import { createHmac } from "node:crypto";
import { hmac, on } from "millrace";
import { expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { postOnce, SECRETS, startStack, untilCompletedOnce } from "../support/pipeline.ts";
import { millrace } from "../support/run-in-process.ts";
import { reaches } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

onEachBackend("an id that comes with another body", (prepare, backend) => {
  const stack = openForAll(() => startStack(prepare));

  const send = (id: string, data: unknown, type = "test.effect") =>
    postOnce(stack.ingress.url, { id, type, data });
  const run = (...args: string[]) => millrace(args, { env: stack.pipeline.env });
  const listed = async (id: string) => {
    const detail = await fetch(`${stack.dashboard.url}/api/events/acme/${id}`);
    return ((await detail.json()) as { conflicts: { body_hash: string; kept: boolean }[] })
      .conflicts;
  };

  test("is answered as a duplicate, kept, shown, and runs when a person says so", async () => {
    const id = `two-bodies-${backend}`;
    expect((await send(id, { of: "first" })).status).toBe(202);
    expect((await send(id, { of: "second" })).status).toBe(200);
    expect((await send(id, { of: "second" })).status).toBe(200);
    expect(await untilCompletedOnce(stack.pipeline.database, [id])).toEqual([]);
    expect((await send(id, { of: "third" })).status).toBe(200);
    await until(async () => (await listed(id)).length === 2);
    const conflicts = await listed(id);
    expect(conflicts).toMatchObject([{ kept: true }, { kept: true }]);

    const doctor = await run("doctor");
    expect(doctor.stdout).toMatch(/ids\s+IDs came with two bodies in the last 7 days: acme \(/);
    const hash = conflicts.at(-1)?.body_hash ?? "";
    const path = `${stack.dashboard.url}/api/events/acme/${id}`;
    const body = await (await fetch(`${path}/body?body_hash=${hash}`)).text();
    expect(body).toContain('"of":"third"');
    expect(await run("replay", "acme", id, "--conflict", "none")).toMatchObject({ code: 1 });
    const replayed = await run("replay", "acme", id, "--conflict", hash, "--wait");
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining("generation 1") });
    const { rows } = await stack.pipeline.database.query(
      `select generation, convert_from(b.body, 'utf8') as body from millrace.events e
       join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
       where event_id = $1 and status = 'completed' order by generation`,
      [id],
    );
    expect(rows).toMatchObject([
      { generation: 0, body: expect.stringContaining("first") },
      { generation: 1, body: expect.stringContaining("third") },
    ]);
  });

  test("keeps three bodies, and the hashes of further ones", async () => {
    const id = `five-bodies-${backend}`;
    for (const of of [1, 2, 3, 4, 5]) expect((await send(id, { of })).status).toBeLessThan(300);
    await until(async () => (await listed(id)).length === 4);
    expect((await listed(id)).filter(({ kept }) => kept)).toHaveLength(3);
  });
});

onEachBackend("a known id with another attempt of the sender", (prepare) => {
  const config = {
    sources: {
      acme: hmac({
        ...{ header: "x-signature", id: "json:id", type: "json:type" },
        attemptFields: ["attempt_number"],
      }),
    },
    handlers: [on("acme", "*", () => {})],
  };
  const stack = openForAll(() => startStack(prepare, { config }));

  async function deliver(event: object) {
    const body = JSON.stringify(event);
    const signature = createHmac("sha256", SECRETS.acme).update(body).digest("hex");
    const request = { method: "POST", headers: { "x-signature": signature }, body };
    return await until(async () => {
      const { status } = await fetch(`${stack.ingress.url}/webhooks/acme`, request);
      return status !== 503 && status;
    });
  }
  const conflicts = async () =>
    (await stack.pipeline.database.query("select event_id from millrace.conflicts")).rows;

  test("fields of the attempt are no other body", async () => {
    const event = { id: "n_1", type: "page", of: "n", big: 2 ** 53 };
    expect(await deliver({ ...event, attempt_number: 1 })).toBeLessThan(300);
    await reaches(stack.pipeline.database, "n_1", "completed");
    expect(await deliver({ attempt_number: 2, ...event })).toBe(200);
    expect(await conflicts()).toEqual([]);
    expect(await deliver({ ...event, of: "m", attempt_number: 3 })).toBe(200);
    expect(await conflicts()).toEqual([{ event_id: "n_1" }]);
  });
});
