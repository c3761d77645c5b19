/** A request before it is bytes: headers are pairs, so that one can come twice. */
export interface WireRequest {
  readonly source: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly method?: string;
  readonly path?: string;
  /** Left out where the request is to have none. */
  readonly hasLength?: boolean;
}

/** A request as it goes over the wire; header values are latin1, one byte a character. */
export function toBytes(request: WireRequest): Buffer {
  const { source, method = "POST", path = `/webhooks/${source}`, body } = request;
  const length: readonly [string, string] = ["content-length", String(body.byteLength)];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    ...[...request.headers, ...(request.hasLength === false ? [] : [length])].map(
      ([name, value]) => `${name}: ${value}`,
    ),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

/** The request with one header changed; undefined takes it away. */
export function withHeader(
  request: WireRequest,
  name: string,
  ...values: readonly string[]
): WireRequest {
  const others = request.headers.filter(([other]) => other !== name);
  return { ...request, headers: [...others, ...values.map((value) => [name, value] as const)] };
}

/** A header's value as the request has it. */
export function headerOf(request: WireRequest, name: string): string {
  return request.headers.find(([other]) => other === name)?.[1] ?? "";
}
