import { until } from "../../support/until.ts";
import type { Footprint } from "../stage/footprint.ts";
import type { Role, RoleKind } from "../stage/role.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const MEGABYTE = 1_048_576;
/** What a process may hold on to at rest beyond what it held on to when it had just started. */
const MORE = {
  /** What is loaded or compiled with the first events. */
  heapBytes: 16 * MEGABYTE,
  /** Buffers that are kept to be used again. */
  outsideBytes: 32 * MEGABYTE,
  /** Of the queues' workers, the pools and the reconciler: some thirty. */
  timers: 60,
  /** The pools of a role, and the connections that senders keep to an ingress. */
  sockets: { worker: 40, ingress: 100, dashboard: 40 } satisfies Record<RoleKind, number>,
};
/** What is under way has ended by then, and what idles has been closed. */
const REST_MS = 20_000;

/** I10, further: at rest no process holds on to more memory, timers or sockets than work explains. */
export async function checkFootprints({ stage }: Evidence): Promise<Finding[]> {
  const up = stage.roles.filter((role) => role.up);
  const found = await Promise.all(up.map((role) => judge(role, stage.say)));
  return found.flat().map((text) => ({ invariant: "I10 NO LEAK", text }));
}

async function judge(role: Role, say: (line: string) => void): Promise<string[]> {
  const before = await role.baseline();
  let now = before;
  let excesses: string[] = [];
  await until(
    async () => {
      now = await role.measure();
      excesses = compare(role, before, now);
      return excesses.length === 0;
    },
    { withinMs: REST_MS },
  ).catch(() => {});
  say(`${role.name} had ${summary(before)}; at rest ${summary(now)}`);
  return excesses;
}

function summary(at: Footprint): string {
  const megabytes = (bytes: number) => (bytes / MEGABYTE).toFixed(1);
  const [timers, sockets] = [countOf("Timeout")(at), countOf("TCPSocketWrap")(at)];
  return `${megabytes(at.heapBytes)} + ${megabytes(at.outsideBytes)} MB, ${timers} timers, ${sockets} sockets`;
}

function compare({ name, kind }: Role, before: Footprint, now: Footprint): string[] {
  const counts = [
    { what: "bytes on the heap", of: (at: Footprint) => at.heapBytes, more: MORE.heapBytes },
    { what: "bytes outside", of: (at: Footprint) => at.outsideBytes, more: MORE.outsideBytes },
    { what: "timers", of: countOf("Timeout"), more: MORE.timers },
    { what: "sockets", of: countOf("TCPSocketWrap"), more: MORE.sockets[kind] },
  ];
  return counts
    .filter(({ of, more }) => of(now) > of(before) + more)
    .map(({ what, of }) => `${name} has ${of(now)} ${what} at rest, and had ${of(before)}`);
}

function countOf(resource: string): (at: Footprint) => number {
  return ({ resources }) => resources[resource] ?? 0;
}
