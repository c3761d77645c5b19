import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { contendersOf, readBenchOptions } from "./options.mjs";
import { PARTS } from "./parts/index.mjs";
import { printTable } from "./rounds.mjs";

const SIGNALS = ["SIGINT", "SIGTERM"];

await measure(readBenchOptions());

async function measure({ parts, only, json, ...settings }) {
  const { startServers } = await import("./servers.mjs");
  const measured = {};
  let versions;
  for (const part of parts) {
    process.stderr.write(`${part}: starting Redis and Postgres\n`);
    const servers = await startServers(PARTS[part].settings);
    const stop = () => void servers.stop().then(() => process.exit(130));
    for (const signal of SIGNALS) process.once(signal, stop);
    try {
      versions ??= await servers.versions();
      const results = await PARTS[part].run(servers, contendersOf(part, only), settings);
      for (const result of Object.values(results)) printTable(result);
      Object.assign(measured, results);
    } finally {
      for (const signal of SIGNALS) process.removeListener(signal, stop);
      await servers.stop();
    }
    if (json !== undefined) writeJson(json, { options: settings, versions, results: measured });
  }
}

function writeJson(file, { options: given, versions, results }) {
  const cores = cpus();
  const machine = {
    cpu: cores[0].model,
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    ...versions,
  };
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(file, `${JSON.stringify({ day, machine, options: given, results }, null, 2)}\n`);
}
