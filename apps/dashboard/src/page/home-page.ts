import { Router } from "express";
import type { DashboardLedger, ReadStats } from "../ports.ts";
import { html, type Html } from "./html.ts";
import { STYLE } from "./style.ts";

interface Deps {
  readonly ledger: DashboardLedger;
  readonly readStats: ReadStats;
}

type Events = Awaited<ReturnType<DashboardLedger["findEvents"]>>["events"];
type Stats = Awaited<ReturnType<ReadStats>>;

/** `GET /`: the counts, the newest events, and where to go from there. It has no script. */
export function createHomePage(deps: Deps): Router {
  const router = Router();
  router.get("/", async (_request, response) => {
    const [sources, { events }] = await Promise.all([
      deps.readStats(),
      deps.ledger.findEvents({ limit: 50 }),
    ]);
    response.type("html").send(`<!doctype html>${page(sources, events).html}`);
  });
  router.get("/style.css", (_request, response) => {
    response.type("css").send(STYLE);
  });
  return router;
}

function page(sources: Stats, events: Events): Html {
  return html`
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Millrace</title>
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        <header>
          <h1>Millrace</h1>
          <nav>
            <a href="/queues">Queues</a> <a href="/api/events">Events as JSON</a>
            <a href="/api/events?status=failed">Failed as JSON</a> <a href="/api/stats">Counts</a>
          </nav>
        </header>
        <main>
          <h2>Sources</h2>
          ${sourcesTable(sources)}
          <h2>Newest events</h2>
          ${events.length === 0 ? html`<p>No event has come in yet.</p>` : eventsTable(events)}
        </main>
      </body>
    </html>
  `;
}

function sourcesTable(sources: Stats): Html {
  const rows = [...sources].map(
    ([source, of]) => html`
      <tr>
        <th scope="row">${source}${of.jobs?.paused === true ? html` <em>paused</em>` : null}</th>
        <td>${of.queued ?? "?"}</td>
        <td>${of.pending}</td>
        <td>${of.completed}</td>
        <td class="${of.failed > 0 ? "failed" : ""}">${of.failed}</td>
      </tr>
    `,
  );
  return html`
    <table class="counts">
      <thead>
        <tr>
          <th scope="col">Source</th>
          <th scope="col">Queued</th>
          <th scope="col">Pending</th>
          <th scope="col">Completed</th>
          <th scope="col">Failed</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  `;
}

function eventsTable(events: Events): Html {
  const rows = events.map(
    (event) => html`
      <tr>
        <td><time datetime="${event.recorded_at}">${shortTime(event.recorded_at)}</time></td>
        <td>${event.source}</td>
        <td>${event.type}</td>
        <td class="id"><a href="${linkTo(event)}">${event.event_id}</a></td>
        <td class="${event.status}">${event.status}</td>
        <td>${event.attempts}</td>
        <td class="error">${event.status === "completed" ? null : cut(event.last_error)}</td>
      </tr>
    `,
  );
  return html`
    <table>
      <thead>
        <tr>
          <th scope="col">Recorded (UTC)</th>
          <th scope="col">Source</th>
          <th scope="col">Type</th>
          <th scope="col">Event</th>
          <th scope="col">Status</th>
          <th scope="col">Attempts</th>
          <th scope="col">Error</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  `;
}

const linkTo = (event: Events[number]): string =>
  `/api/events/${encodeURIComponent(event.source)}/${encodeURIComponent(event.event_id)}?generation=${event.generation}`;
const shortTime = (instant: string): string => instant.slice(0, 19).replace("T", " ");
const cut = (text: string | null): string | null => text?.slice(0, 300) ?? null;
