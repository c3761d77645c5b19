// Loaded into a role before anything else: lets the harness strike the process at a failpoint.
import { writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const armed = new Map();

globalThis[Symbol.for("millrace.failpoint")] = (failpoint) => {
  const trap = armed.get(failpoint);
  if (trap === undefined) return;
  trap.skip -= 1;
  if (trap.skip >= 0) return;
  armed.delete(failpoint);
  // At once: a process that is killed sends no more messages.
  writeSync(1, `\nSTRUCK ${failpoint}\n`);
  process.kill(process.pid, trap.signal);
};

let skewMs = 0;
const RealDate = Date;
/** @type {any} */ (globalThis).Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + skewMs);
    else super(.../** @type {[any]} */ (args));
  }
  /** @override */
  static now() {
    return RealDate.now() + skewMs;
  }
};

function footprint() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  const resources = {};
  for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
  return { kind: "footprint", heapBytes: heapUsed, outsideBytes: external, resources };
}

process.on("message", ({ kind, failpoint, signal, skip, ms }) => {
  if (kind === "measure") process.send?.(footprint());
  if (kind === "skew") skewMs = ms;
  if (kind === "arm") armed.set(failpoint, { signal, skip });
  if (kind === "disarm") armed.delete(failpoint);
});
process.channel?.unref();
