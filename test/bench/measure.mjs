import { start } from "./processes.mjs";
import { checkWork, untilCount } from "./work.mjs";

const CONNECTIONS = 64;

export function envOf(stores, contender, { concurrency = 20, shape = "insert" } = {}) {
  return {
    ...stores.env,
    ...contender.env,
    BENCH_SHAPE: shape,
    BENCH_CONCURRENCY: String(concurrency),
  };
}

export async function startContender(contender, env, { processes = 1 } = {}) {
  const ingress = contender.ingress && (await contender.ingress(env));
  const workers = [];
  while (contender.worker && workers.length < processes) workers.push(await contender.worker(env));
  const all = [...(ingress ? [ingress] : []), ...workers];
  return {
    ingress,
    workers,
    url: ingress && `http://127.0.0.1:${ingress.port}/webhooks/bench`,
    cpuMs: () => ({
      ...(ingress && { ingress: ingress.cpuMs() }),
      ...(workers.length > 0 && { worker: sumOf(workers, (worker) => worker.cpuMs()) }),
    }),
    stop: async () => {
      for (const process of all) await process.stop();
    },
  };
}

const sumOf = (items, valueOf) => items.reduce((sum, item) => sum + valueOf(item), 0);

export async function postClosed(env, url, { seconds = 3_600, count = Infinity }) {
  const args = [url, seconds, CONNECTIONS, count].map(String);
  return await whenDone(await start("load.mjs", args, env));
}

export async function postOpen(env, url, { rate, seconds }) {
  const args = [url, rate, seconds, 512].map(String);
  return await whenDone(await start("open-load.mjs", args, env));
}

async function whenDone(load) {
  await load.ended;
  return load.message;
}

function cpuUsOf(before, after, events) {
  return Object.fromEntries(
    Object.entries(after).map(([name, ms]) => [name, ((ms - before[name]) * 1e3) / events]),
  );
}

/**
 * Deliveries to completed effects, after a warm-up of a tenth: the rate from the first delivery to the last
 * effect, and the CPU of all processes. Each event has its effect once, or the round does not count.
 */
export async function measurePipeline(servers, contender, options) {
  const { events } = options;
  const stores = await servers.fresh();
  const env = envOf(stores, contender, options);
  const running = await startContender(contender, env, options);
  const effects = () => stores.count("effects");
  const warmUp = Math.max(1, Math.round(events / 10));
  await postClosed(env, running.url, { count: warmUp });
  await untilCount(effects, warmUp);
  const cpuMs = () => ({ ...running.cpuMs(), ...stores.cpuMs() });
  const [began, before] = [performance.now(), cpuMs()];
  await postClosed(env, running.url, { count: events });
  const ended = await untilCount(effects, warmUp + events);
  const cpuUs = cpuUsOf(before, cpuMs(), events);
  await running.stop();
  await checkWork(stores.query, warmUp + events);
  return { rate: events / ((ended - began) / 1_000), cpuUs };
}

export async function measureDrain(stores, contender, options) {
  const { events } = options;
  const MEASURED = { from: 0.2, to: 0.95 };
  const running = await startContender(
    { ...contender, ingress: undefined },
    envOf(stores, contender, options),
    options,
  );
  const cpuMs = () => ({ ...running.cpuMs(), ...stores.cpuMs() });
  const atStart = { now: performance.now(), done: 0, cpu: cpuMs() };
  let from;
  let to;
  const count = () => contender.done?.(stores, events) ?? stores.count("effects");
  await untilCount(count, events, {
    onCount: (done, now) => {
      if (from === undefined && done >= events * MEASURED.from) from = { now, done, cpu: cpuMs() };
      if (to === undefined && done >= events * MEASURED.to) to = { now, done, cpu: cpuMs() };
    },
  });
  const figures = await contender.figures?.(running.workers);
  await running.stop();
  if (from.done === to.done) from = atStart;
  const drained = to.done - from.done;
  return {
    ...(figures && { figures }),
    rate: drained / ((to.now - from.now) / 1_000),
    cpuUs: cpuUsOf(from.cpu, to.cpu, drained),
  };
}

export async function measureIngress(stores, contender, { seconds, warmUpSeconds = 1 }) {
  const env = envOf(stores, contender);
  const running = await startContender({ ...contender, worker: undefined }, env);
  const before = await contender.stored?.(stores);
  const warmUp = await postClosed(env, running.url, { seconds: warmUpSeconds });
  const cpuMs = () => ({ ...running.cpuMs(), ...stores.cpuMs() });
  const cpuBefore = cpuMs();
  const done = await postClosed(env, running.url, { seconds });
  const cpuUs = cpuUsOf(cpuBefore, cpuMs(), done.accepted);
  if (contender.stored) {
    const wanted = before + warmUp.accepted + done.accepted;
    const stored = () => contender.stored(stores);
    await untilCount(stored, wanted, { withinMs: 10_000 });
    const now = await stored();
    if (now !== wanted) throw new Error(`Cannot use this round: ${now} are stored of ${wanted}`);
  }
  await running.stop();
  return { rate: done.accepted / done.seconds, cpuUs };
}
