import { AsyncLocalStorage } from "node:async_hooks";
import { createBullBoard } from "@bull-board/api";
import type {
  AppControllerRoute,
  BullBoardRequest,
  ControllerHandlerReturnType,
} from "@bull-board/api/typings/app";
import { ExpressAdapter } from "@bull-board/express";
import type { Principal } from "@millrace/api-contract";
import {
  errorBody,
  fromEnvelope,
  MillraceError,
  type ErrorCode,
  type EventLookup,
} from "@millrace/core";
import type { AuditedAct, Ledger } from "@millrace/ledger";
import { underAudit } from "@millrace/operations";
import type { Queue } from "bullmq";
import { Router, type Express, type Request, type RequestHandler } from "express";
import { principalOf } from "../security/authenticator.ts";
import { isUnreadable, QueueAdapter } from "./queue-adapter.ts";

type BoardAudit = ReturnType<typeof createBoardAudit>;

interface QueueBoardOptions {
  /** True when the queues know their workers. On Postgres, none is found. */
  readonly showWorkers: boolean;
  readonly audit: BoardAudit;
  /** Gets bull-board's errors. The browser gets no details. */
  readonly onError: (error: unknown) => void;
}

/**
 * bull-board over the sources' queues. Jobs are masked, and each route that is not allowed has a
 * handler that refuses, so no spelling of a path leads past it.
 */
export function createQueueBoard(queues: Iterable<Queue>, options: QueueBoardOptions): Router {
  const adapter = new ExpressAdapter().setBasePath("/queues");
  const mount = adapter.setApiRoutes.bind(adapter);
  adapter.setApiRoutes = (routes) => mount(routes.map((route) => guarded(route, options.audit)));
  createBullBoard({
    queues: Array.from(queues, (queue) => new QueueAdapter(queue)),
    serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: "Millrace queues",
        hideDocsLink: true,
        showWorkers: options.showWorkers,
        miscLinks: [{ text: "Ledger", url: "/" }],
      },
    },
  });
  adapter.setErrorHandler((error) => {
    if (isUnreadable(error)) return refusal(409, "queue_unreadable", UNREADABLE);
    options.onError(error);
    return refusal(500, "internal", "Cannot do this: the queue failed");
  });

  const app: Express = adapter.getRouter();
  app.disable("x-powered-by");
  app.disable("etag");
  const router = Router();
  router.use(options.audit.middleware, adaptPage, app);
  router.use((request, _response, next) => {
    if (request.method === "GET" || request.method === "HEAD") return next();
    next(new MillraceError("forbidden", REFUSED));
  });
  return router;
}

const UNREADABLE = "Cannot do this: a key of the queue in Redis, or the job, was changed";
const REFUSED = "Cannot do this to a queue: acknowledged events are not removed, edited or forged";

/** bull-board's own routes that are allowed; a scheduler's template holds job data. */
const mayUse = (method: string, route: string): boolean =>
  method === "get" ? route !== "/api/job-schedulers" : method === "put" && WRITES.has(route);

type Handler = (request?: BullBoardRequest) => Promise<ControllerHandlerReturnType>;

function guarded(route: AppControllerRoute, audit: BoardAudit): AppControllerRoute {
  const methods = [route.method].flat();
  const routes = [route.route].flat();
  const allowed = methods.every((method) => routes.every((path) => mayUse(method, path)));
  if (!allowed) return { ...route, handler: refuse };
  if (methods.every((method) => method === "get")) return route;
  const audited: Handler = async (request) => {
    if (request === undefined) return refuse();
    return audit.run(routes[0] ?? "", request, async () => route.handler(request));
  };
  return { ...route, handler: failedOnly(routes, audited) };
}

const refuse: Handler = async () => refusal(403, "forbidden", REFUSED);

/** bull-board retries completed jobs too, which would run as duplicates. */
function failedOnly(routes: readonly string[], next: Handler): Handler {
  if (routes.includes("/api/queues/:queueName/retry/:queueStatus")) {
    return async (request) => {
      return request?.params["queueStatus"] === "failed" ? next(request) : refuse();
    };
  }
  if (!routes.includes("/api/queues/:queueName/:jobId/retry")) return next;
  return async (request) => {
    const queue = request?.queues.get(String(request.params["queueName"]));
    const job = await queue?.getJob(String(request?.params["jobId"]));
    const state = await job?.getState();
    if (state === undefined || state === "failed") return next(request);
    return refusal(409, "not_failed", `Cannot retry the job: it is ${state}`);
  };
}

/** Our error body, with a key of the dictionary of bull-board's page. */
function refusal(
  status: 403 | 409 | 500,
  code: ErrorCode,
  message: string,
): ControllerHandlerReturnType {
  const key = status === 500 ? "ERRORS.INTERNAL_SERVER_ERROR" : "ERRORS.FORBIDDEN";
  return { status, body: { error: { ...errorBody(code, message).error, key }, message } };
}

// bull-board's own option hides the allowed buttons too, and no element names its action, so the
// buttons are found by position, which a test compares with the shipped code.
const HIDDEN_BUTTONS = [
  // A job: duplicate, edit, clean, and the button that moves a delayed job.
  ".jobActions-XfoQK8 > li:nth-last-child(-n + 3)",
  ".jobActions-XfoQK8 > li:nth-child(2)",
  // A list of jobs: clean all.
  ".queueActions-dnGfku > li:last-child",
  // A queue's menu: add, concurrency, empty, obliterate.
  ":has(> .danger-GDAQpl) > :first-child",
  ":has(> .danger-GDAQpl) > :nth-last-child(-n + 3)",
];
const STYLE = `<style>${HIDDEN_BUTTONS.join(",")}{display:none!important}</style>`;

const FOREIGN_LINK = /<link\b[^>]*\bhref="https?:\/\/[^>]*>/g;

/** Removes links to other hosts: bull-board's fonts come from Google, which learns each user. */
const adaptPage: RequestHandler = (_request, response, next) => {
  const send = response.send.bind(response);
  response.send = (body: unknown) => {
    const isPage = typeof body === "string" && /^\s*<!doctype html/i.test(body);
    if (!isPage) return send(body);
    return send(body.replaceAll(FOREIGN_LINK, "").replace("</head>", `${STYLE}</head>`));
  };
  next();
};

type Act = () => Promise<ControllerHandlerReturnType>;

export function createBoardAudit(ledger: Pick<Ledger, "audit">) {
  const askers = new AsyncLocalStorage<Principal>();
  return {
    /** Remembers the caller: bull-board gives its handlers only parts of the request. */
    middleware: (request: Request, _response: unknown, next: () => void) =>
      askers.run(principalOf(request), next),
    /** @throws `database_unavailable` before it writes, when the audit cannot be written */
    run: async (route: string, request: BullBoardRequest, act: Act) => {
      const asker = askers.getStore();
      if (asker === undefined) throw new Error("Cannot audit the write: its user is not known");
      const actor = { ...asker, via: "board" } as const;
      const intent = await intentOf(route, request);
      return await underAudit({ ledger, actor }, intent, act, (answer) => ({
        status: answer.status ?? 200,
      }));
    },
  };
}

/**
 * The writes (PUT) that are let through, by route, with their names in the audit. Each can be
 * undone and loses nothing.
 */
const WRITES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "/api/queues/:queueName/:jobId/retry": "retry",
    "/api/queues/:queueName/retry/:queueStatus": "retry_many",
    "/api/queues/:queueName/:jobId/promote": "promote",
    "/api/queues/:queueName/promote": "promote_many",
    "/api/queues/:queueName/pause": "pause",
    "/api/queues/:queueName/resume": "resume",
    "/api/queues/pause": "pause",
    "/api/queues/resume": "resume",
  }),
);

async function intentOf(route: string, request: BullBoardRequest): Promise<AuditedAct> {
  const action = WRITES.get(route) ?? route;
  const { queueName, jobId, queueStatus } = request.params;
  if (queueName === undefined) return { action };
  const source = String(queueName).replace(/^millrace-/, "");
  if (queueStatus !== undefined) {
    return { action, source, filter: { source, status: String(queueStatus) } };
  }
  if (jobId === undefined) return { action, source };
  const job = await request.queues.get(String(queueName))?.getJob(String(jobId));
  return { action, ...eventOf(job, { source, eventId: String(jobId) }) };
}

function eventOf(job: unknown, asked: EventLookup): EventLookup {
  try {
    const data = typeof job === "object" && job !== null && "data" in job ? job.data : undefined;
    const { eventId, generation } = fromEnvelope(data);
    return { source: asked.source, eventId, generation };
  } catch {
    return asked;
  }
}
