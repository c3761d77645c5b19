import { Redis } from "ioredis";
import { start } from "./processes.mjs";
import { inTurn, printTable } from "./rounds.mjs";

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 1;

/** Events a second that each ingress acknowledges over 64 connections, and its CPU for one. */
export async function benchIngress(env, { rounds, seconds }) {
  const contenders = {
    "usual: Express, express.raw, queue.add": () => start("contenders/usual-ingress.mjs", [], env),
    "millrace ingress": () => start("millrace", ["ingress"], env),
    "ceiling: node:http, no queue": () => start("contenders/ceiling-ingress.mjs", [], env),
  };
  const results = await inTurn(contenders, rounds, async (launch) => {
    const ingress = await launch();
    const url = `http://127.0.0.1:${ingress.port}/webhooks/bench`;
    await load(env, url, WARM_UP_SECONDS);
    const before = ingress.cpuMs();
    const done = await load(env, url, seconds);
    const cpuUs = { ingress: ((ingress.cpuMs() - before) * 1_000) / done.accepted };
    await ingress.stop();
    await flush(env);
    return { rate: done.accepted / done.seconds, cpuUs };
  });
  printTable(`Ingress: 1.4 kB, ${CONNECTIONS} connections, Redis with AOF everysec`, results);
  return results;
}

async function load(env, url, seconds) {
  const child = await start("load.mjs", [url, String(seconds), String(CONNECTIONS)], env);
  await child.ended;
  return child.message;
}

async function flush(env) {
  const client = new Redis(env.REDIS_URL);
  await client.flushall();
  client.disconnect();
}
