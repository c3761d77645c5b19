export interface WireRequest {
  readonly source: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly method?: string;
  readonly path?: string;
  readonly hasLength?: boolean;
}

export const toBytes = (request: WireRequest): Buffer => write(toDraft(request));

export function toDraft(request: WireRequest): Draft {
  const { source, method = "POST", path = `/webhooks/${source}`, headers, body } = request;
  return {
    method,
    target: path,
    version: "HTTP/1.1",
    headers: [
      ["host", "localhost"],
      ...headers.map(([name, value]): [string, string] => [name, value]),
    ],
    body: Buffer.from(body),
    framing: { kind: request.hasLength === false ? "none" : "length" },
  };
}

export function withHeader(
  request: WireRequest,
  name: string,
  ...values: readonly string[]
): WireRequest {
  const others = request.headers.filter(([other]) => other !== name);
  return { ...request, headers: [...others, ...values.map((value) => [name, value] as const)] };
}

export function headerOf(request: WireRequest, name: string): string {
  return request.headers.find(([other]) => other === name)?.[1] ?? "";
}

export interface Draft {
  method: string;
  target: string;
  version: string;
  headers: [string, string][];
  body: Buffer;
  framing: { kind: "length" } | { kind: "chunked"; sizes: readonly number[] } | { kind: "none" };
}

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
