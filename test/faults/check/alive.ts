import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const INVARIANT = "I8 ALIVE";

/** I8: no process ends by itself, and after the heal everything is settled in bounded time. */
export function checkAlive({ stage, notDrained }: Evidence): Finding[] {
  const exits = stage.roles.flatMap(({ unexpected }) => unexpected);
  return [
    ...exits.map((text) => ({ invariant: INVARIANT, text })),
    ...(notDrained === undefined ? [] : [{ invariant: INVARIANT, text: notDrained }]),
  ];
}
