import { until } from "../../support/until.ts";
import type { Footprint, Role, RoleKind } from "../environment/role.ts";
import type { Evidence, Finding } from "./evidence.ts";

const CONNECTIONS_MAX = { worker: 12 + 14, ingress: 4 + 14, dashboard: 10 + 14 };
const CONNECTIONS_REST_MS = 15_000;
const MEGABYTE = 1_048_576;
const MORE = {
  heapBytes: 16 * MEGABYTE,
  outsideBytes: 32 * MEGABYTE,
  timers: 60,
  sockets: { worker: 40, ingress: 100, dashboard: 40 } satisfies Record<RoleKind, number>,
};
const REST_MS = 20_000;

/** I8: no process ends by itself, and after the heal everything is settled in bounded time. */
export function checkAlive({ environment, notDrained }: Evidence): Finding[] {
  const exits = environment.roles.flatMap(({ unexpected }) => unexpected);
  return [
    ...exits.map((text) => ({ invariant: "I8 ALIVE", text })),
    ...(notDrained === undefined ? [] : [{ invariant: "I8 ALIVE", text: notDrained }]),
  ];
}

/** I10: at rest no connection is in a transaction, and no role has more of them than its pools allow. */
export async function checkLeaks({ environment }: Evidence): Promise<Finding[]> {
  const allowed = environment.roles
    .filter(({ up }) => up)
    .reduce((sum, { kind }) => sum + CONNECTIONS_MAX[kind], 0);
  const findings: Finding[] = [];
  // The server may not have noticed yet that a process which was killed is gone.
  await until(
    () => connectionsOf(environment).then(({ total, open }) => total <= allowed && open === 0),
    {
      withinMs: CONNECTIONS_REST_MS,
    },
  ).catch(async () => {
    const { total, open } = await connectionsOf(environment);
    const text = `${total} connections where pools allow ${allowed}, ${open} of them in a transaction`;
    findings.push({ invariant: "I10 NO LEAK", text });
  });
  return findings;
}

async function connectionsOf(
  environment: Evidence["environment"],
): Promise<{ total: number; open: number }> {
  const { rows } = await environment.database.query(
    `select count(*)::int as total,
       count(*) filter (where state like 'idle in transaction%'
         or (state = 'active' and now() - query_start > interval '2 seconds'))::int as open
     from pg_stat_activity where application_name like 'millrace-%'`,
  );
  return rows[0];
}

/** I10, further: at rest no process holds on to more memory, timers or sockets than work explains. */
export async function checkFootprints({ environment }: Evidence): Promise<Finding[]> {
  const up = environment.roles.filter((role) => role.up);
  const found = await Promise.all(up.map((role) => judge(role, environment.say)));
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
