import { AsyncLocalStorage } from "node:async_hooks";
import type { Principal } from "@millrace/api-contract";
import type { BullBoardRequest, ControllerHandlerReturnType } from "@bull-board/api/typings/app";
import { fromEnvelope, type EventLookup } from "@millrace/core";
import type { AuditedAct, Ledger } from "@millrace/ledger";
import { underAudit } from "@millrace/operations";
import type { RequestHandler } from "express";
import { principalOf } from "../security/authenticator.ts";

type Act = () => Promise<ControllerHandlerReturnType>;

export interface BoardAudit {
  /** Remembers the caller: bull-board gives its handlers only parts of the request. */
  readonly middleware: RequestHandler;
  /** @throws `database_unavailable` before it writes, when the audit cannot be written */
  run(route: string, request: BullBoardRequest, act: Act): ReturnType<Act>;
}

export function createBoardAudit(ledger: Pick<Ledger, "audit">): BoardAudit {
  const askers = new AsyncLocalStorage<Principal>();
  return {
    middleware: (request, _response, next) => askers.run(principalOf(request), next),
    run: async (route, request, act) => {
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
export const WRITES: ReadonlyMap<string, string> = new Map(
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
