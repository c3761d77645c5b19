import type { ChildProcess } from "node:child_process";
import { until } from "../../support/until.ts";

/** What a process holds on to, once all garbage is gone. */
export interface Footprint {
  readonly heapBytes: number;
  /** Of buffers. */
  readonly outsideBytes: number;
  /** Counts, by Node's names, of what keeps it alive: sockets, and timers that are not unref'd. */
  readonly resources: Readonly<Record<string, number>>;
}

/** Asks a process that has the preload. @throws when it ends before it answers. */
export async function measureFootprint(
  child: ChildProcess | undefined,
  name: string,
): Promise<Footprint> {
  let footprint: Footprint | undefined;
  const onMessage = (message: unknown) => {
    if (isFootprint(message)) footprint = message;
  };
  child?.on("message", onMessage);
  try {
    if (child?.connected === true) child.send({ kind: "measure" }, () => {});
    await until(() => footprint ?? child?.connected !== true, { what: `${name} measured` });
  } finally {
    child?.off("message", onMessage);
  }
  if (footprint === undefined) throw new Error(`Cannot measure ${name}: it is gone`);
  return footprint;
}

function isFootprint(message: unknown): message is Footprint {
  return (message as { kind?: unknown }).kind === "footprint";
}
