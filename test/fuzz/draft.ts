/** A request in its parts, so that each can be changed before it is written. */
export interface Draft {
  method: string;
  target: string;
  version: string;
  headers: [string, string][];
  body: Buffer;
  /** How the body's end is told; `none` leaves that to what stands in `headers`. */
  framing: { kind: "length" } | { kind: "chunked"; sizes: readonly number[] } | { kind: "none" };
}

/** Writes a request as bytes. Header values are latin1: one byte a character. */
export function write(draft: Draft): Buffer {
  const headers = [...draft.headers];
  if (draft.framing.kind === "length") headers.push(["content-length", `${draft.body.length}`]);
  if (draft.framing.kind === "chunked") headers.push(["transfer-encoding", "chunked"]);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${draft.method} ${draft.target} ${draft.version}\r\n${lines.join("")}\r\n`;
  const body =
    draft.framing.kind === "chunked" ? chunked(draft.body, draft.framing.sizes) : draft.body;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function chunked(body: Buffer, sizes: readonly number[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (let turn = 0; at < body.length; turn += 1) {
    const size = Math.min(sizes[turn % sizes.length] ?? body.length, body.length - at);
    pieces.push(Buffer.from(`${size.toString(16)}\r\n`), body.subarray(at, at + size));
    pieces.push(Buffer.from("\r\n"));
    at += size;
  }
  return Buffer.concat([...pieces, Buffer.from("0\r\n\r\n")]);
}
