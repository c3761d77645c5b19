// Connections that say the same over and over, in a process of their own: what they take of the test's would count
// for the ingress. Each that was ended is opened anew after a pause.
import { connect } from "node:net";

const [port, count, spreadMs, pauseMs, kind, head, size] = JSON.parse(process.argv[2]);
const ONE_BYTE_CHUNK = "1\r\nx\r\n";
const TICK_MS = 20;

const ATTACKS = {
  "hold-back": (socket) => {
    socket.write(head);
    socket.write(BODY);
  },
  "cut-up": (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(PIECE), TICK_MS);
    socket.once("close", () => clearInterval(timer));
  },
  silent: () => {},
  "half-head": (socket) => {
    socket.write("POST /webhooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
    socket.once("data", () => socket.write("POST /webhooks/github HTTP/1.1\r\nho"));
  },
};
const BODY = kind === "hold-back" ? Buffer.alloc(size - 1, "x") : undefined;
const PIECE = ONE_BYTE_CHUNK.repeat(Math.ceil((size * TICK_MS) / 1_000 / ONE_BYTE_CHUNK.length));

function begin() {
  const socket = connect(port, "127.0.0.1");
  let status;
  socket.on(
    "data",
    (text) => (status ??= /^HTTP\/1\.1 (\d{3})/.exec(text.toString("latin1"))?.[1]),
  );
  // One that is refused is reset sooner or later: that is the other side's good right.
  socket.on("error", () => {});
  socket.once("close", () => {
    process.send(status === undefined ? null : Number(status));
    setTimeout(begin, pauseMs);
  });
  socket.once("connect", () => ATTACKS[kind](socket));
}
for (let index = 0; index < count; index += 1) setTimeout(begin, index * spreadMs);
