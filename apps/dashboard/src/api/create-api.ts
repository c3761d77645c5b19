import { MillraceError } from "@millrace/core";
import { sqlStateOf, type EventPage } from "@millrace/ledger";
import { createOperator, showEvent } from "@millrace/operations";
import express, { Router, type Request } from "express";
import type { DashboardLedger, DashboardQueues, Overviews } from "../ports.ts";
import { answerReplayMany, answerRetryMany } from "./answer-many.ts";
import { answerReplay, answerRetry } from "./answer-one.ts";
import { parseAuditQuery } from "./audit-query.ts";
import { disagreementsJson } from "./disagreements-json.ts";
import { eventJson, eventNotFound } from "./event-json.ts";
import { parseEventPath } from "./event-path.ts";
import { parseActivityQuery, parseEventQuery, type EventQuery } from "./event-query.ts";
import { actorOf } from "./reason.ts";
import { refuseOtherMethods } from "./refuse-methods.ts";

interface Deps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
  readonly overviews: Overviews;
}

/** The API for programs: events, their retry and replay, statistics, and the pausing of a source. */
export function createApi(deps: Deps): Router {
  const router = Router();
  addReads(router, deps);
  addWrites(router, deps);
  refuseOtherMethods(router);
  return router;
}

function addReads(router: Router, deps: Deps): void {
  const { ledger } = deps;
  router.get("/events", async (request, response) => {
    response.json(await searchEvents(ledger, parseEventQuery(request.query)));
  });
  router.get("/events/:source/:eventId", async (request, response) => {
    const lookup = parseEventPath(request);
    const shown = await showEvent(deps, lookup);
    if (shown === undefined) throw eventNotFound(lookup.eventId);
    response.json(eventJson(shown, lookup));
  });
  router.get("/stats", async (_request, response) => {
    response.json({ sources: Object.fromEntries(await deps.overviews.stats()) });
  });
  router.get("/activity", async (request, response) => {
    const { source } = parseActivityQuery(request.query);
    response.json({ bucket_seconds: 60, buckets: await deps.overviews.activity(source) });
  });
  router.get("/audit", async (request, response) => {
    response.json(await ledger.findAudit(parseAuditQuery(request.query)));
  });
  router.get("/disagreements", async (_request, response) => {
    response.json(disagreementsJson(await deps.overviews.comparison()));
  });
}

function addWrites(router: Router, deps: Deps): void {
  const json = express.json({ limit: "16kb" });
  const operatorFor = (request: Request) => createOperator(deps, actorOf(request));
  router.post("/events/:source/:eventId/retry", json, async (request, response) => {
    response.json(await answerRetry(operatorFor(request), parseEventPath(request)));
  });
  router.post("/events/:source/:eventId/replay", json, async (request, response) => {
    response.json(await answerReplay(operatorFor(request), parseEventPath(request)));
  });
  router.post("/retry", json, async (request, response) => {
    response.json(await answerRetryMany(deps, request, response));
  });
  router.post("/replay", json, async (request, response) => {
    response.json(await answerReplayMany(deps, request, response));
  });
  router.post("/sources/:source/pause", json, async (request, response) => {
    const { source } = request.params;
    await operatorFor(request).pause(source);
    response.json({ source, paused: true });
  });
  router.post("/sources/:source/resume", json, async (request, response) => {
    const { source } = request.params;
    await operatorFor(request).resume(source);
    response.json({ source, paused: false });
  });
}

async function searchEvents(ledger: DashboardLedger, query: EventQuery): Promise<EventPage> {
  try {
    return await ledger.findEvents(query);
  } catch (error) {
    // Class 22 is a data exception: a cursor that was made up, with a day that no month has.
    if (sqlStateOf(error)?.startsWith("22") !== true) throw error;
    throw new MillraceError("invalid_request", "Cannot search events: a value cannot be compared", {
      cause: error,
    });
  }
}
