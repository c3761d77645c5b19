// An open loop: the n-th event is due at a fixed time, whether or not the answers to those before have come,
// as senders do. A latency counts from the time when the event was due, so that an ingress that stalls
// pays for every event that came due meanwhile (no coordinated omission).
import { createSender } from "./sender.mjs";
import { percentiles } from "./statistics.mjs";

const [url, rate, seconds, connections] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const sender = createSender(url, connections);
const count = Math.max(1, Math.round(rate * seconds));
const intervalMs = 1_000 / rate;
const startedAtMs = performance.now() + 50;
const latenciesMs = [];
let refused = 0;

async function send(number) {
  const dueAtMs = startedAtMs + number * intervalMs;
  const status = await sender.post(number);
  if (status === 202 || status === 200) latenciesMs.push(performance.now() - dueAtMs);
  else refused += 1;
}

const answers = [];
while (answers.length < count) {
  const due = Math.min(count, Math.floor((performance.now() - startedAtMs) / intervalMs) + 1);
  while (answers.length < due) answers.push(send(answers.length));
  await new Promise((resolve) => setTimeout(resolve, 1));
}
await Promise.all(answers);
process.send({
  kind: "done",
  accepted: latenciesMs.length,
  refused,
  ackMs: percentiles(latenciesMs),
  // When event 0 was due, by the wall clock that Postgres has too.
  epochMs: performance.timeOrigin + startedAtMs,
  intervalMs,
});
sender.close();
process.disconnect();
