import type { AnswerOf, ReadQueryOf } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import { sqlStateOf } from "@millrace/ledger";
import { createOperator, DISAGREEMENT_KINDS, DISAGREEMENTS, showEvent } from "@millrace/operations";
import { Router, type Request } from "express";
import type { Comparison, DashboardLedger, DashboardQueues, Overviews } from "../ports.ts";
import { principalOf } from "../security/guard.ts";
import { eventJson, eventNotFound } from "./event-json.ts";
import { replayFiltered, replayOne, retryFiltered, retryOne } from "./run-again.ts";
import { refuseOtherMethods, serve } from "./serve.ts";

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
  const { ledger, overviews } = deps;
  serve(router, "get /events", ({ query }) => searchEvents(ledger, query));
  serve(router, "get /events/:source/:eventId", async ({ params, query }) => {
    const shown = await showEvent(deps, { ...params, ...query });
    if (shown === undefined) throw eventNotFound(params.eventId);
    return eventJson(shown, params);
  });
  serve(router, "get /stats", async () => ({
    sources: Object.fromEntries(await overviews.stats()),
  }));
  serve(router, "get /activity", async ({ query: { source } }) => {
    const buckets = await overviews.activity(source);
    return { bucket_seconds: 60 as const, buckets };
  });
  serve(router, "get /audit", ({ query: { event_id: eventId, ...query } }) =>
    ledger.audit.find({ ...query, eventId }),
  );
  serve(router, "get /disagreements", async () => disagreementsJson(await overviews.comparison()));
}

function addWrites(router: Router, deps: Deps): void {
  const operatorFor = (request: Request, { reason }: { readonly reason?: string | undefined }) =>
    createOperator(deps, { ...principalOf(request), reason });
  serve(router, "post /events/:source/:eventId/retry", ({ request, params, query, body }) =>
    retryOne(operatorFor(request, body), { ...params, ...query }),
  );
  serve(router, "post /events/:source/:eventId/replay", ({ request, params, query, body }) =>
    replayOne(operatorFor(request, body), { ...params, ...query }),
  );
  serve(router, "post /retry", ({ request, response, body }) =>
    retryFiltered(operatorFor(request, body), body, response),
  );
  serve(router, "post /replay", ({ request, response, body }) =>
    replayFiltered(operatorFor(request, body), body, response),
  );
  serve(router, "post /sources/:source/pause", async ({ request, params: { source }, body }) => {
    await operatorFor(request, body).pause(source);
    return { source, paused: true };
  });
  serve(router, "post /sources/:source/resume", async ({ request, params: { source }, body }) => {
    await operatorFor(request, body).resume(source);
    return { source, paused: false };
  });
}

async function searchEvents(
  ledger: DashboardLedger,
  query: ReadQueryOf<"get /events">,
): Promise<AnswerOf<"get /events">> {
  try {
    return await ledger.reads.findEvents(query);
  } catch (error) {
    // Class 22 is a data exception: a cursor that was made up, with a day that no month has.
    if (sqlStateOf(error)?.startsWith("22") !== true) throw error;
    throw new MillraceError("invalid_request", "Cannot search events: a value cannot be compared", {
      cause: error,
    });
  }
}

/** Every kind there is, also those of which none was found. */
function disagreementsJson({ checkedAt, diagnosis }: Comparison): AnswerOf<"get /disagreements"> {
  return {
    checked_at: checkedAt.toISOString(),
    pending_checked: diagnosis.pending,
    kinds: DISAGREEMENT_KINDS.map((kind) => {
      const { ledger, job, act } = DISAGREEMENTS[kind];
      const { count, examples } = diagnosis.found.get(kind) ?? { count: 0, examples: [] };
      return {
        kind,
        count,
        meaning: `In the ledger: ${ledger}; its job: ${job}.`,
        mend: `${act.charAt(0).toUpperCase()}${act.slice(1)}.`,
        examples: examples.map(({ source, eventId, generation }) => ({
          source,
          event_id: eventId,
          generation,
        })),
      };
    }),
  };
}
