import { pipeline } from "node:stream/promises";
import { createDocument, type AnswerOf, type OperationName } from "@millrace/api-contract";
import { MillraceError, type Config, type EventKey, type EventLookup } from "@millrace/core";
import { BODY_BYTES_SHOWN, sqlStateOf, type EventSearch, type Ledger } from "@millrace/ledger";
import {
  changeError,
  createOperator,
  DISAGREEMENT_KINDS,
  DISAGREEMENTS,
  endSession,
  listQueued,
  readAuditSearch,
  readFilter,
  readRunSearch,
  openBody,
  showEvent,
  type Actor,
  type OpenBody,
} from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import { Router, type Request } from "express";
import type { Overviews } from "../overviews.ts";
import { principalOf, unauthorized, type Authenticator } from "../security/authenticator.ts";
import { clearSessionCookie, setSessionCookie } from "../security/sessions.ts";
import { createBodyReads } from "./body-reads.ts";
import { eventJson, eventNotFound } from "./event-json.ts";
import { refuseOtherMethods, serve, type Call } from "./serve.ts";
import { refusal, retryNamed, runFiltered } from "./verbs.ts";

type Exchange = Pick<Call<OperationName>, "request" | "response">;
type BodyRange = Parameters<typeof openBody>[2];

interface Deps {
  readonly ledger: Ledger;
  readonly queues: Queues;
  readonly overviews: Overviews;
  readonly authenticatedOnly: readonly string[];
  readonly sources: Config["sources"];
}

export function createApi(deps: Deps): Router {
  const router = Router();
  addReads(router, deps);
  addWrites(router, deps);
  refuseOtherMethods(router);
  return router;
}

function addReads(router: Router, deps: Deps): void {
  const { ledger, overviews, sources, authenticatedOnly } = deps;
  const recordRead = createBodyReads(ledger);
  serve(router, "get /events", async ({ query, request }) => {
    const filter = await readFilter(ledger, query, sources);
    if (filter.body !== undefined) await recordRead(principalOf(request), { find: query.find });
    const [page, queued] = await Promise.all([
      refuseData(() => ledger.reads.findEvents(filter)),
      listQueued(deps, filter),
    ]);
    return { ...page, queued };
  });
  serve(router, "get /event-count", async ({ query: { max, ...given } }) => {
    const filter = await readFilter(ledger, given, sources);
    const { groups, isPartial } = await refuseData(() => ledger.reads.countEvents(filter, max));
    const found = groups.reduce((sum, { count }) => sum + count, 0);
    return { count: Math.min(found, max), more: isPartial || found > max };
  });
  serve(router, "get /runs", async ({ query }) => ({
    runs: await ledger.bulkRuns.find(readRunSearch(query)),
  }));
  serve(router, "get /runs/:id", async ({ params }) => ({
    run: await ledger.bulkRuns.get(runId(params)),
  }));
  serve(router, "get /events/:source/:eventId", async ({ params, query, request }) => {
    const { generation } = query;
    const bodyBytesMax = query.body === "false" ? 0 : BODY_BYTES_SHOWN;
    const shown = await showEvent(deps, { ...params, generation }, { bodyBytesMax });
    if (shown === undefined) throw eventNotFound(params.eventId);
    const about = { authenticated_only: authenticatedOnly.includes(params.source), bodyBytesMax };
    const event = eventJson(shown, { ...params, generation }, about);
    const key = { ...params, generation: event.generation };
    // Values of a body are a part of it.
    const isRead = event.body !== null || event.find.length > 0;
    if (isRead) await recordRead(principalOf(request), key);
    return event;
  });
  serve(router, "get /errors", ({ query }) => ledger.errors.find(query));
  serve(router, "get /errors/:fingerprint", async ({ params }) => {
    const error = await ledger.errors.get(params.fingerprint);
    return { ...error, hours: await ledger.errors.countHours(error.fingerprint) };
  });
  const download = async (call: Exchange, event: EventLookup, range: BodyRange) => {
    const body = await openBody(deps, event, range);
    if (body === undefined) throw eventNotFound(event.eventId);
    const key = { ...event, generation: body.generation };
    await recordRead(principalOf(call.request), key);
    await sendBody(call, body, key);
  };
  serve(router, "get /events/:source/:eventId/body", async ({ params, query, ...call }) => {
    const { generation, body_hash: bodyHash, ...range } = query;
    await download(call, { ...params, generation }, { ...range, bodyHash });
  });
  serve(router, "get /events/:source/:eventId/forward", async ({ params, query, ...call }) => {
    const isAllowed = sources[params.source]?.options.forward === true;
    requireNamedToken(call.request, isAllowed, params.source);
    await download(call, { ...params, generation: query.generation }, {});
  });
  serve(router, "get /health", () => overviews.health());
  serve(router, "get /stats", async () => {
    return { sources: Object.fromEntries(await overviews.stats()) };
  });
  serve(router, "get /activity", ({ query }) => overviews.activity(query));
  serve(router, "get /audit", ({ query: { event_id: eventId, ...query } }) =>
    ledger.audit.find(readAuditSearch({ ...query, eventId })),
  );
  serve(router, "get /sessions", async () => ({ sessions: await ledger.sessions.find() }));
  serve(router, "get /disagreements", async () => disagreementsJson(await overviews.comparison()));
}

function addWrites(router: Router, deps: Deps): void {
  const { ledger } = deps;
  const operatorFor = (call: Write) => createOperator(deps, actorOf(call));
  const read = (asked: EventSearch) => readFilter(ledger, asked, deps.sources);
  serve(router, "post /events/:source/:eventId/retry", async (call) => {
    const lookup = { ...call.params, ...call.query };
    const result = await operatorFor(call).retryEvent(lookup);
    if (result.kind === "skipped") throw refusal("retry", result.reason, lookup);
    return { retried: 1 as const, skipped: {} };
  });
  serve(router, "post /events/:source/:eventId/replay", async (call) => {
    const { generation, body_hash: bodyHash } = call.query;
    const lookup = { ...call.params, generation, bodyHash };
    const result = await operatorFor(call).replayEvent(lookup);
    if (result.kind === "skipped") throw refusal("replay", result.reason, lookup);
    return { replayed: 1 as const, skipped: {}, generation: result.generation };
  });
  serve(router, "post /events/:source/:eventId/give-up", async (call) => {
    const lookup = { ...call.params, ...call.query };
    const result = await operatorFor(call).giveUpEvent(lookup);
    if (result.kind === "skipped") throw refusal("give_up", result.reason, lookup);
    return { given_up: 1 as const };
  });
  serve(router, "post /events/:source/:eventId/edit", async (call) => {
    const { body, type } = call.body;
    const edit = { ...call.params, generation: call.query.generation, body, type };
    const sent = await operatorFor(call).sendEdited(edit);
    if (sent === undefined) throw eventNotFound(edit.eventId);
    return { event_id: sent.eventId, type: sent.type };
  });
  serve(router, "post /retry", (call) =>
    call.body.events === undefined
      ? runFiltered(operatorFor(call), "retry", { ...call, read }, (retried) => ({ retried }))
      : retryNamed(operatorFor(call), call.body.events),
  );
  serve(router, "post /replay", (call) =>
    runFiltered(operatorFor(call), "replay", { ...call, read }, (replayed) => ({ replayed })),
  );
  serve(router, "post /give-up", (call) =>
    runFiltered(operatorFor(call), "give_up", { ...call, read }, (given_up) => ({ given_up })),
  );
  serve(router, "post /errors/:fingerprint", (call) =>
    changeError({ ledger, actor: actorOf(call) }, call.params.fingerprint, call.body),
  );
  serve(router, "post /runs/:id", async (call) => {
    const { state, rate } = call.body;
    return { run: await operatorFor(call).changeRun(runId(call.params), { state, rate }) };
  });
  for (const verb of ["pause", "resume"] as const) {
    serve(router, `post /sources/:source/${verb}`, async (call) => {
      const paused = verb === "pause";
      await operatorFor(call).setPaused(call.params.source, paused);
      return { ...call.params, paused };
    });
  }
  serve(router, "post /sessions/:id/end", async (call) => {
    const { id } = call.params;
    await endSession({ ledger, actor: actorOf(call) }, id);
    return { id, ended: true as const };
  });
}

/** @throws `forbidden` */
function requireNamedToken(request: Request, isAllowed: boolean, source: string): void {
  const { via, user } = principalOf(request);
  // A token without a name has the name of its variable.
  const isNamed = via === "token" && !/^DASHBOARD_(VIEWER_)?TOKEN$/.test(user ?? "");
  if (isAllowed && isNamed) return;
  const why = isAllowed
    ? "send a token that has a name (DASHBOARD_VIEWER_TOKENS)"
    : `its config has no \`forward: true\``;
  throw new MillraceError("forbidden", `Cannot forward events of "${source}": ${why}`);
}

interface Write {
  readonly request: Request;
  readonly body: { readonly reason?: string | undefined };
}

const actorOf = ({ request, body: { reason } }: Write): Actor => ({
  ...principalOf(request),
  reason,
});

/** Any other text names no run. */
const runId = ({ id }: { readonly id: string }): number =>
  /^\d{1,15}$/.test(id) ? Number(id) : -1;

/** @throws `invalid_request` for values that Postgres cannot compare. */
async function refuseData<Found>(ask: () => Promise<Found>): Promise<Found> {
  try {
    return await ask();
  } catch (error) {
    // Class 22 is a data exception, such as a made-up cursor with February 30.
    if (sqlStateOf(error)?.startsWith("22") !== true) throw error;
    throw new MillraceError("invalid_request", "Cannot search events: a value cannot be compared", {
      cause: error,
    });
  }
}

/** Characters. The event's own page has the rest. */
const DETAIL_CHARS_MAX = 200;

type Comparison = Awaited<ReturnType<Overviews["comparison"]>>;

/** Lists every kind, also with a count of 0. */
function disagreementsJson({ checkedAt, diagnosis }: Comparison): AnswerOf<"get /disagreements"> {
  return {
    checked_at: checkedAt.toISOString(),
    pending_checked: diagnosis.pending,
    not_compared: [...diagnosis.notCompared.keys()],
    kinds: DISAGREEMENT_KINDS.map((kind) => {
      const { ledger, job, act } = DISAGREEMENTS[kind];
      const { count, examples } = diagnosis.found.get(kind) ?? { count: 0, examples: [] };
      return {
        kind,
        count,
        meaning: `In the ledger: ${ledger}; its job: ${job}.`,
        fix: `${act.charAt(0).toUpperCase()}${act.slice(1)}.`,
        examples: examples.map(({ detail, ...example }) => ({
          ...example,
          detail: detail?.slice(0, DETAIL_CHARS_MAX) ?? null,
        })),
      };
    }),
  };
}

/** The routes before the guard; they hold no data. */
export function createOpenRoutes(authenticator: Authenticator): Router {
  const router = Router();
  serve(router, "get /session", async ({ request, response }) => {
    const principal = await authenticator.identify(request, response);
    if (principal === undefined) throw unauthorized(response, "Cannot identify the user: sign in");
    return principal;
  });
  serve(router, "post /session", async ({ request, response, body }) => {
    const { session, principal } = await authenticator.signIn(request, response, body);
    setSessionCookie(request, response, session);
    return principal;
  });
  serve(router, "delete /session", async ({ request, response }) => {
    await authenticator.signOut(request);
    clearSessionCookie(response);
  });
  const document = createDocument();
  serve(router, "get /openapi.json", () => document);
  refuseOtherMethods(router);
  return router;
}

// Sends a file to save: no browser shows what a sender sent as a page. An error cuts the
// connection, so that a part is not taken for the whole.
async function sendBody(
  { request, response }: Exchange,
  { length, parts }: OpenBody,
  key: EventKey,
): Promise<void> {
  // Every file system takes this name.
  response.attachment(`${key.source}-${key.eventId.replaceAll(/[^\w.-]/g, "_").slice(0, 100)}.bin`);
  response.set({ "Content-Type": "application/octet-stream", "Content-Length": String(length) });
  if (request.method === "HEAD") return void response.end();
  try {
    await pipeline(parts, response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}
