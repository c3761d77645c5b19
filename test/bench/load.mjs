// A closed loop: posts the next event over a connection as soon as the last one is answered, for so many
// seconds or so many events, and posts each of them so many times. A process of its own; it says how many were answered 202 (or 200).
import { eventId } from "./event.mjs";
import { createSender } from "./sender.mjs";

const [url, seconds, connections, count, times] = [
  process.argv[2],
  Number(process.argv[3]),
  Number(process.argv[4]),
  Number(process.argv[5] ?? Infinity),
  Number(process.argv[6] ?? 1),
];
const sender = createSender(url, connections);
let posted = 0;
let accepted = 0;
const began = performance.now();
const deadline = began + seconds * 1_000;

async function postInTurn() {
  while (performance.now() < deadline && posted < count) {
    posted += 1;
    const id = eventId(posted);
    for (let time = 0; time < times; time += 1) {
      const status = await sender.post(posted, id);
      if (status !== 202 && status !== 200) throw new Error(`Cannot count an answer of ${status}`);
      accepted += 1;
    }
  }
}
await Promise.all(Array.from({ length: connections }, postInTurn));
process.send({ kind: "done", accepted, seconds: (performance.now() - began) / 1_000 });
sender.close();
process.disconnect();
