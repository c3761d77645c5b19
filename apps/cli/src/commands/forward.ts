import type { EventPage, EventRow } from "@millrace/api-contract";
import {
  hasCode,
  hasTenants,
  isMillraceError,
  jsonOf,
  MillraceError,
  statusOf,
  tenantOf,
  wait,
} from "@millrace/core";
import { reasonOf } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, loadProject } from "../context.ts";
import { findReceiver, requireSource } from "../find-source.ts";
import { moment } from "../parse-option.ts";
import { postDelivery, readVerdict } from "../send/send-many.ts";
import { onStopRequest } from "../stop-request.ts";
import { printable } from "../terminal-text.ts";
import { ingressUrl } from "./send.ts";

const HELP = `
It reads the events of a deployment by its dashboard, and posts each body as it was received to an
ingress of yours, signed with your own secret of the source. It changes nothing there. The source
needs \`forward: true\` in the deployment's config, and MILLRACE_FORWARD_TOKEN is a token of its
DASHBOARD_VIEWER_TOKENS. Each body that is read is in the deployment's audit. Ctrl-C ends it.

Examples:
  $ millrace forward stripe --from https://dashboard.example.com
  $ millrace forward stripe --from https://dashboard.example.com --since 1h
  $ millrace forward stripe --from https://dashboard.example.com --to http://localhost:3000`;

interface ForwardOptions {
  readonly from: string;
  readonly to?: string;
  readonly since?: Date;
}

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("forward")
    .description("post the events of a deployment to an ingress on this machine")
    .argument("<source>", "a source in the config, here and there")
    .requiredOption("--from <url>", "the deployment's dashboard")
    .option("--to <url>", "the ingress's URL (default: the running one)")
    .option("--since <time>", "begin with events since then (default: with new ones)", moment)
    .addHelpText("after", HELP)
    .action((source: string, options: ForwardOptions) => runForward(context, source, options));
}

const POLL_MS = 1_000;
/** A transaction that began earlier can be committed later: its event appears behind others. */
const OVERLAP_MS = 60_000;

async function runForward(
  context: CliContext,
  source: string,
  options: ForwardOptions,
): Promise<void> {
  const stop = onStopRequest(context, () => context.exit(130));
  const { signal } = stop;
  const deployment = readDeployment(context, options.from, signal);
  const deliver = await createDelivery(context, source, options.to);
  const say = (text: string) => context.stdout.write(`${text}\n`);
  const seen = new Map<string, number>();
  try {
    let sinceMs = options.since?.getTime() ?? (await deployment.newestMs(source));
    let newestMs = 0;
    let isLive = options.since !== undefined;
    if (!isLive) sinceMs -= OVERLAP_MS;
    while (!signal.aborted) {
      for await (const event of deployment.events(source, sinceMs)) {
        if (signal.aborted) return;
        const { event_id: id, type, recorded_at: recordedAt } = event;
        if (seen.has(id) || event.generation > 0) continue;
        if (isLive) {
          const body = await deployment.readBody(event);
          const became = body ? await deliver(event, body, signal) : "skipped, its body is gone";
          say(`${printable(`${type} ${id}`)}: ${became}`);
        }
        const recordedMs = Date.parse(recordedAt);
        seen.set(id, recordedMs);
        newestMs = Math.max(newestMs, recordedMs);
      }
      isLive = true;
      sinceMs = Math.max(sinceMs, newestMs - OVERLAP_MS);
      for (const [id, ms] of seen) if (ms < sinceMs) seen.delete(id);
      await wait(POLL_MS, signal);
    }
  } finally {
    stop.dispose();
  }
}

/** @throws `invalid_request` for a URL that would send the token in clear */
function readDeployment({ env, stderr }: CliContext, from: string, stopped: AbortSignal) {
  const token = env["MILLRACE_FORWARD_TOKEN"];
  const url = URL.canParse(from) ? new URL(from) : undefined;
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? "");
  if (url?.protocol !== "https:" && !(url?.protocol === "http:" && isLocal)) {
    throw refused(`"${from}" is not a URL that begins with https://`);
  }
  if (token === undefined) {
    throw refused("MILLRACE_FORWARD_TOKEN is not set. Set a token of the DASHBOARD_VIEWER_TOKENS");
  }
  const headers = { authorization: `Bearer ${token}` };
  const readOnce = async (asked: URL): Promise<Response> => {
    const answer = await fetch(asked, { headers, redirect: "error" }).catch((error: Error) => {
      throw unavailable(`${url.origin} does not answer: ${reasonOf(error.cause ?? error)}`);
    });
    if (answer.ok) return answer;
    const { error } = (jsonOf(await answer.text()) ?? {}) as { error?: MillraceError };
    if (error === undefined) throw unavailable(`${url.origin} answers ${answer.status}`);
    throw new MillraceError(error.code, `${error.message} (${url.origin})`);
  };
  let hasAnswered = false;
  const read = async (path: string, query: Readonly<Record<string, string>>): Promise<Response> => {
    const asked = new URL(`${url.pathname.replace(/\/$/, "")}/api/${path}`, url);
    asked.search = new URLSearchParams(query).toString();
    for (;;) {
      try {
        const answer = await readOnce(asked);
        hasAnswered = true;
        return answer;
      } catch (error) {
        const isPassing = isMillraceError(error) && statusOf(error.code) >= 500;
        if (!hasAnswered || !isPassing || stopped.aborted) throw error;
        stderr.write(`${error.message}. Asking again\n`);
        await wait(POLL_MS, stopped);
      }
    }
  };
  const list = async (query: Readonly<Record<string, string>>): Promise<EventPage> =>
    (await (await read("events", query)).json()) as EventPage;
  return {
    newestMs: async (source: string): Promise<number> => {
      const { events } = await list({ source, limit: "1" });
      return events[0] === undefined ? 0 : Date.parse(events[0].recorded_at);
    },
    /** All that are recorded since then, the oldest first. */
    async *events(source: string, sinceMs: number): AsyncGenerator<EventRow> {
      const since = new Date(Math.max(0, sinceMs)).toISOString();
      let cursor: string | null = "";
      while (cursor !== null) {
        const ofPage = cursor === "" ? {} : { cursor };
        const page = await list({ source, since, order: "asc", limit: "200", ...ofPage });
        yield* page.events;
        cursor = page.next;
      }
    },
    /** Undefined where the retention has dropped it. */
    readBody: async ({ source, event_id: id, generation }: EventRow) => {
      const query = { event_id: id, generation: String(generation) };
      try {
        const answer = await read(`events/${encodeURIComponent(source)}/-/forward`, query);
        return new Uint8Array(await answer.arrayBuffer());
      } catch (error) {
        if (hasCode(error, "body_missing") || hasCode(error, "event_not_found")) return undefined;
        throw error;
      }
    },
  };
}

const refused = (why: string) => new MillraceError("invalid_request", `Cannot forward: ${why}`);
const unavailable = (why: string) => new MillraceError("unavailable", `Cannot forward: ${why}`);

/** Signs as the sender does, with the secret that is live here. */
async function createDelivery(context: CliContext, source: string, to: string | undefined) {
  const { config } = await loadProject(context);
  const isShared = hasTenants(requireSource(config, source, "forward"));
  const receivers = new Map<string | undefined, ReturnType<typeof findReceiver>>();
  const receiverOf = (tenant: string | undefined) => {
    const named = { source, ...(tenant !== undefined && { tenant }) };
    const receiver = receivers.get(tenant) ?? findReceiver(context, named, "forward");
    receivers.set(tenant, receiver);
    return receiver;
  };
  // A secret that is missing here is found before anything is read there.
  if (!isShared) await receiverOf(undefined);
  return async (event: EventRow, body: Uint8Array, stopped: AbortSignal): Promise<string> => {
    const { event_id: id, type } = event;
    const tenant = isShared ? tenantOf(id) : undefined;
    const receiver = await receiverOf(tenant);
    const [secret = ""] = receiver.secrets[source] ?? [];
    const path = tenant === undefined ? source : `${source}/${tenant}`;
    const url = await ingressUrl(`/webhooks/${path}`, to, receiver);
    const eventId = tenant === undefined ? id : id.slice(tenant.length + 1);
    for (;;) {
      const request = { eventId, type, secret, nowMs: Date.now(), body };
      const reply = await postDelivery(url, receiver.source.provider.sign(request), body);
      const verdict = readVerdict(reply);
      if (typeof verdict === "string") return verdict;
      if (reply.kind !== "no_answer" || stopped.aborted) return `rejected, ${verdict.rejected}`;
      context.stderr.write(`${url.origin} does not answer, asking again: ${reply.reason}\n`);
      await wait(POLL_MS, stopped);
    }
  };
}
