// A closed loop: posts the next event over a connection as soon as the last one is answered, for so many
// seconds or so many events. A process of its own; it says how many were answered 202 (or 200).
import { createSender } from "./sender.mjs";

const [url, seconds, connections, count] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const sender = createSender(url, connections);
let posted = 0;
const began = performance.now();
const deadline = began + seconds * 1_000;

async function postInTurn() {
  while (performance.now() < deadline && posted < count) {
    const status = await sender.post((posted += 1));
    if (status !== 202 && status !== 200) throw new Error(`Cannot count an answer of ${status}`);
  }
}
await Promise.all(Array.from({ length: connections }, postInTurn));
process.send({
  kind: "done",
  accepted: posted,
  seconds: (performance.now() - began) / 1_000,
});
sender.close();
process.disconnect();
