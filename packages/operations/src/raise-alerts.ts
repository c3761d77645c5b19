import {
  ALERTS_SOURCE,
  bodyHash,
  type Alert,
  type Config,
  type EmittedEvent,
  type EventKey,
} from "@millrace/core";
import type { DisagreementKind } from "@millrace/api-contract";
import { countOf, runResult } from "@millrace/api-contract/run-text";
import { partOf, type Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { DISAGREEMENTS } from "./reconcile/repair.ts";
import {
  behindText,
  findBehind,
  findFailingSources,
  findRefusing,
  type Failing,
} from "./sender-findings.ts";

/** One message for each kind, key, and hour. */
interface Incident extends Alert {
  /** Instead of the kind in the id of the event. */
  readonly id?: string;
  readonly at?: string;
}

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "repair" | "errors" | "bulkRuns">;
  readonly queues: Queues;
  readonly sources: Config["sources"];
  readonly dashboardUrl: string | undefined;
  /** Events about which the reconciler found ledger and queues disagree since the last call. */
  readonly disagreements: ReadonlyMap<DisagreementKind, number>;
}

/**
 * Emits an event of the source `millrace` for what somebody should know. Its id names incident and
 * hour, so a second worker, or the same one after a restart, emits nothing.
 */
export async function raiseAlerts(deps: Deps): Promise<void> {
  const { ledger, dashboardUrl } = deps;
  const [found, silent, failing, refused, behind] = await Promise.all([
    ledger.reads.findIncidents(),
    ledger.reads.findSilent(),
    findFailingSources(deps),
    findRefusing(deps),
    // Alerts cause no alerts.
    findBehind(deps.queues, ALERTS_SOURCE).catch(() => []),
  ]);
  const path: PathTo = (where) => dashboardUrl && `${dashboardUrl.replace(/\/$/, "")}/${where}`;
  const ofSource = (source: string, page = "events?") =>
    path(`${page}source=${encodeURIComponent(source)}`);
  const refusedSources = new Set(refused.map(({ source }) => source));
  const incidents: Incident[] = [
    ...openedErrors(found, path),
    ...(await Promise.all(failing.sources.map((one) => failingSource(deps, one, ofSource)))),
    ...behind.map((one) => {
      const { text: title, fix = "" } = behindText([one]);
      const url = ofSource(one.source, "events?status=pending&");
      return { kind: "source.behind", key: one.source, title, details: [fix], url };
    }),
    ...[...refusedSources].map((name) => ({
      kind: "source.refused",
      key: name,
      title: `${name} refused all of its last deliveries`,
      details: refused.flatMap(({ source, code, deliveries }) =>
        source === name ? `${deliveries} ${code}` : [],
      ),
      url: path("sources"),
    })),
    ...silent.map((source) => ({
      kind: "source.silent",
      key: source,
      title: `${source} sent nothing for an hour`,
      details: ["It had events in each hour of the day before."],
      url: ofSource(source),
    })),
    ...disagreed(deps, path("")),
    ...(await Promise.all(found.runs.map((run) => endedRun(deps, run, path)))),
  ];
  await ledger.repair.emitAlerts(incidents.map(toEvent));
}

type Found = Awaited<ReturnType<Ledger["reads"]["findIncidents"]>>;
type PathTo = (where: string) => string | undefined;

/** Names its worst errors, which takes a while, only where the alert is not there yet. */
async function failingSource(
  { ledger }: Deps,
  { source, text }: Failing["sources"][number],
  ofSource: (source: string, page: string) => string | undefined,
): Promise<Incident> {
  const url = ofSource(source, "errors?");
  const incident = {
    kind: "source.failing",
    key: source,
    title: `In the last 10 minutes ${text}`,
    url,
  };
  const isKnown = (await ledger.reads.findStatus(keyOfAlert(incident))) !== undefined;
  const worst = isKnown ? [] : await ledger.errors.findWorst(source);
  const details = worst.map(({ title, events }) => `${countOf(events, "event")}: ${title}`);
  return { ...incident, details };
}

async function endedRun(
  { ledger }: Deps,
  { id, verb, state, done, error, finishedAt: at }: Found["runs"][number],
  path: PathTo,
): Promise<Incident> {
  // Counting the results of a large run may take too long, which must not hold back the alert.
  const result = await ledger.bulkRuns.get(id).then(runResult, () => `${done} done`);
  const title = `Bulk run ${id} (${verb.replace("_", " ")}) ${state}. ${result}`;
  // A run that was stopped and goes on ends again.
  const key = `${id}|${Date.parse(at)}`;
  const details = error === null ? [] : [error];
  return { kind: "run.ended", key, at, title, details, url: path(`runs/${id}`) };
}

/** A worker that dies leaves a few, which the reconciler repairs; a lost queue leaves many. */
const DISAGREEMENTS_MIN = 20;

function disagreed({ disagreements }: Deps, url: string | undefined): Incident[] {
  const found = [...disagreements].filter(([, count]) => count > 0);
  const sum = found.reduce((total, [, count]) => total + count, 0);
  const isRepaired = found.every(([kind]) => DISAGREEMENTS[kind].repair !== undefined);
  if (sum === 0 || (isRepaired && sum < DISAGREEMENTS_MIN)) return [];
  const title = `Ledger and queues disagreed about ${countOf(sum, "event")}`;
  const details = found.map(([kind, count]) => `${count} ${kind}: ${DISAGREEMENTS[kind].act}`);
  const key = isRepaired ? "repaired" : "left";
  return [{ kind: "ledger.disagreed", key, title, details, url }];
}

type Opened = Found["errors"][number];

/** Alerts of one error in ten minutes. Those that come behind them are gathered by the minute. */
const ERRORS_MAX = 10;
const GATHERED = "errors.opened";

function openedErrors(
  { errors, opened, alerted, gatheredLately }: Found,
  path: PathTo,
): Incident[] {
  const alerts = errors.map((error) => ({
    kind: error.isBack ? "error.reopened" : "error.opened",
    key: error.fingerprint,
    at: error.at,
    title: titleOf(error),
    details: [...thrownAt(error), `${countOf(error.attempts, "failed attempt")} so far`],
    url: path(`errors/${error.fingerprint}`),
  }));
  const [first] = alerts;
  if (first === undefined || errors.length + alerted <= ERRORS_MAX) return alerts;
  if (gatheredLately) return [];
  if (alerts.length === 1) return [{ ...first, id: GATHERED }];
  const others = opened > errors.length ? `, and ${opened - errors.length} that wait` : "";
  const title = `${errors.length} more errors${others}. ${first.title}`;
  const key = errors.map(({ fingerprint }) => partOf(fingerprint)).join("|");
  const details = alerts.map((one) =>
    [one.title, ...one.details, one.url].filter(Boolean).join(". "),
  );
  return [{ kind: GATHERED, key, at: first.at, title, details, url: path("errors") }];
}

const titleOf = ({ isBack, sources, title }: Opened) =>
  `${isBack ? "Error came back" : "New error"} in ${sources.join(", ")}: ${title}`;

const thrownAt = ({ line }: Opened) => (line === null ? [] : [`At ${line}`]);

function keyOfAlert({ id, kind, key, at }: Omit<Incident, "details">): EventKey {
  const hour = (at ?? new Date().toISOString()).slice(0, 13);
  return { source: ALERTS_SOURCE, eventId: `${id ?? kind}|${key}|${hour}`, generation: 0 };
}

function toEvent(incident: Incident): EmittedEvent {
  const { id: _id, at: _at, ...alert } = incident;
  const body = Buffer.from(JSON.stringify(alert));
  return {
    ...keyOfAlert(incident),
    type: alert.kind,
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: {},
    unsigned: false,
    body,
    parent: undefined,
    afterMs: 0,
  };
}
