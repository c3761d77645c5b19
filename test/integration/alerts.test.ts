import { alertTo, defineConfig, on, PermanentError, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { serve } from "../support/free-port.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

async function startChannel() {
  const channel = { isDown: false, received: [] as Record<string, unknown>[] };
  const server = await serve((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      if (!channel.isDown) channel.received.push(JSON.parse(Buffer.concat(parts).toString()));
      response.writeHead(channel.isDown ? 503 : 200).end("said so");
    });
  });
  return Object.assign(channel, server);
}

onOneBackend("alerts", (prepare) => {
  const stack = openForAll(async () => {
    const [slack, pager] = await Promise.all([startChannel(), startChannel()]);
    const config = defineConfig({
      sources: { acme: standardWebhooks() },
      alerts: [alertTo.slack(), alertTo.pagerduty({ routingKey: "key", url: pager.url })],
      handlers: [
        on("acme", ["test.broken", "test.wrong"], ({ type }) => {
          throw new PermanentError(type === "test.broken" ? "No <stock> of it" : "No price of it");
        }),
      ],
    });
    const env = { SLACK_WEBHOOK_URL: slack.url, DASHBOARD_URL: "https://ops.test/" };
    const opened = await startStack(prepare, { config, env });
    const close = async () => {
      await opened.close();
      await Promise.all([slack.close(), pager.close()]);
    };
    return { ...opened, slack, pager, close };
  });
  const events = async () => {
    const { rows } = await stack.pipeline.database.query<{ id: string; status: string }>(
      "select event_id as id, status from millrace.events where source = 'millrace'",
    );
    return rows;
  };
  // An incident that lasts is told again in the next hour.
  const incidents = async () =>
    new Set((await events()).map(({ id }) => id.slice(0, id.lastIndexOf("|"))));
  const health = async () => {
    const { items } = (await (await fetch(`${stack.dashboard.url}/api/health`)).json()) as {
      items: { id: string; level: string; text: string }[];
    };
    return items.find(({ id }) => id === "alerts");
  };

  test("tell of a new error and of a failing source, by each channel, over two workers", async () => {
    const { ingress, slack, pager, pipeline } = stack;
    await pipeline.startInProcess("worker");
    for (let n = 1; n <= 6; n += 1) {
      await post(ingress.url, { id: `evt_broken_${n}`, type: "test.broken" });
    }
    await until(() => slack.received.length >= 2 && pager.received.length >= 2);
    const [failing, opened] = slack.received.map(({ text }) => String(text)).toSorted();
    expect(failing).toMatch(/100 % of \d events of acme failed \(usual 0 %\)\*\n\d events: /);
    expect(opened).toMatch(
      /^\*New error in acme: .*No &lt;stock&gt; of it\*\nAt .*alerts\.test\.ts:\d+\n/,
    );
    expect(opened).toMatch(/<https:\/\/ops\.test\/errors\/[^|?]+\|Open in Millrace>$/);
    expect(pager.received).toMatchObject([{ routing_key: "key" }, { routing_key: "key" }]);
    expect(await health()).toMatchObject({ level: "ok" });
  });

  test("that fail are tried again by the channel that failed, shown by health, and raise none", async () => {
    const { ingress, slack, pager } = stack;
    const before = await incidents();
    pager.isDown = true;
    await post(ingress.url, { id: "evt_wrong", type: "test.wrong" });
    await until(async () => (await health())?.level === "bad");
    expect(await health()).toMatchObject({ text: "Alerts are failing: 1 not sent" });
    pager.isDown = false;
    await until(async () => (await events()).every(({ status }) => status === "completed"));

    // The look that found the new error found the earlier ones too.
    const raised = [...(await incidents())].filter((incident) => !before.has(incident));
    expect(raised).toEqual([expect.stringMatching(/^error\.opened\|/)]);
    const told = ({ received }: typeof pager) =>
      received.filter((message) => JSON.stringify(message).includes("No price of it"));
    expect([told(slack).length, told(pager).length]).toEqual([1, 1]);
  });
});
