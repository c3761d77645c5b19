import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Credentials } from "@millrace/dashboard";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import config from "../fixtures/forward/millrace.config.ts";
import { onOneBackend } from "../support/backends.ts";
import { serve } from "../support/free-port.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { millrace, startCommand } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";

const MILLRACE_CONFIG = fileURLToPath(
  new URL("../fixtures/forward/millrace.config.ts", import.meta.url),
);
const LOCAL_SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
/** As DASHBOARD_TOKEN and DASHBOARD_VIEWER_TOKENS are read. */
const credentials: Credentials = {
  accounts: [],
  tokens: [
    { name: "DASHBOARD_TOKEN", token: "an-operator-without-a-name", role: "operator" },
    { name: "laptop", token: "a-token-of-the-laptop", role: "viewer" },
  ],
};

/** An ingress on the laptop that verifies by the sender's own library. */
async function startLaptop() {
  const received: { id: string; body: string }[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    new Webhook(LOCAL_SECRET).verify(body, headers);
    received.push({ id: String(request.headers["webhook-id"]), body });
    response.writeHead(202).end("{}");
  };
  const server = await serve((request, response) => void receive(request, response));
  return { ...server, received };
}

onOneBackend("millrace forward", (prepare) => {
  const stack = openForAll(() =>
    startStack(prepare, { config, dashboard: { dashboard: { credentials } } }),
  );
  const laptop = openForAll(startLaptop);

  const command = (token: string, ...args: readonly string[]) => ({
    // Of an option that is given twice, the last counts.
    args: ["forward", "--from", stack.dashboard.url, "--to", laptop.url, ...args],
    options: {
      env: {
        MILLRACE_CONFIG,
        MILLRACE_FORWARD_TOKEN: token,
        ACME_WEBHOOK_SECRET: LOCAL_SECRET,
        PATIENT_WEBHOOK_SECRET: LOCAL_SECRET,
      },
    },
  });
  const send = async (id: string, source: "acme" | "patient" = "acme") => {
    const body = `{ "type": "order.paid",  "id": "${id}" }`;
    await post(stack.ingress.url, { id, type: "order.paid", source, body });
    await until(async () => {
      const { rows } = await stack.pipeline.database.query(
        "select 1 from millrace.events where event_id = $1",
        [id],
      );
      return rows.length > 0;
    });
    return { id, body };
  };

  test("posts each event once, as it was received, and changes nothing there", async () => {
    const earlier = [await send("evt_forward_1"), await send("evt_forward_2")];
    const { args, options } = command("a-token-of-the-laptop", "acme", "--since", "1h");
    const running = startCommand(args, options);
    await until(() => laptop.received.length >= 2);
    const later = await send("evt_forward_3");
    await until(() => laptop.received.length >= 3);
    running.stop();
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    expect(laptop.received).toEqual([...earlier, later]);
    expect(running.written.stdout).toContain("order.paid evt_forward_3: accepted\n");
    const { rows } = await stack.pipeline.database.query(
      "select actor, event_id from millrace.audit where action = 'read_body' order by event_id",
    );
    expect(rows).toEqual([...earlier, later].map(({ id }) => ({ actor: "laptop", event_id: id })));
    const counts = await stack.pipeline.database.query(
      "select status, attempts, count(*)::int from millrace.events group by 1, 2",
    );
    expect(counts.rows).toEqual([{ status: "completed", attempts: 1, count: 3 }]);
  });

  test("passes over an event whose body the retention has dropped", async () => {
    const { id } = await send("evt_forward_old");
    await stack.pipeline.database.query("delete from millrace.bodies");
    const after = await send("evt_forward_4");
    const { args, options } = command("a-token-of-the-laptop", "acme", "--since", "1h");
    const running = startCommand(args, options);
    await until(() => laptop.received.some((one) => one.id === after.id));
    running.stop();
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    expect(running.written.stdout).toContain(`${id}: skipped, its body is gone\n`);
  });

  test("is refused for a source that does not allow it, and without a token that has a name", async () => {
    await send("evt_patient_1", "patient");
    const refusals = [
      [command("a-token-of-the-laptop", "patient", "--since", "1h"), "has no `forward: true`"],
      [command("an-operator-without-a-name", "acme", "--since", "1h"), "DASHBOARD_VIEWER_TOKENS"],
      [command("a-guess-of-a-stranger", "acme"), "the token is not valid"],
      [command("a-token-of-the-laptop", "acme", "--from", "http://example.com"), "https://"],
    ] as const;
    for (const [{ args, options }, why] of refusals) {
      const ended = await millrace(args, options);
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
    }
    expect(laptop.received.map(({ id }) => id)).not.toContain("evt_patient_1");
  });
});
