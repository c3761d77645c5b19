import { MillraceError, type Delivery } from "@millrace/core";
import { reasonOf } from "@millrace/service";
import { z } from "zod";

type SavedRequest = Omit<Delivery, "receivedAtMs">;

const jsonRequest = z.object({
  method: z.string().default("POST"),
  url: z.string().default("/"),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string().default(""),
});

/** HTTP/1.1 as it came, or JSON `{ method, url, headers, body }`. @throws `invalid_request` */
export function readRequest(bytes: Buffer): SavedRequest {
  const isJson = bytes.toString("latin1").trimStart().startsWith("{");
  try {
    const { url, headers, ...rest } = isJson ? readJson(bytes.toString()) : readHttp(bytes);
    const path = url.replace(/^https?:\/\/[^/?]*/, "");
    return { ...rest, url: path, headers: Object.fromEntries(new Headers(headers)) };
  } catch (error) {
    const text = `Cannot read the request: ${reasonOf(error)}`;
    throw new MillraceError("invalid_request", text, { cause: error });
  }
}

function readJson(text: string) {
  const { data } = jsonRequest.safeParse(JSON.parse(text));
  if (data === undefined) throw new Error("it must be { method, url, headers, body }, as text");
  const headers = Object.entries(data.headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return { ...data, headers, body: Buffer.from(data.body) };
}

/** In latin1, as node:http reads a head. */
function readHttp(bytes: Buffer) {
  const [head = ""] = /^[^]*?\r?\n\r?\n/.exec(bytes.toString("latin1")) ?? [];
  const [first = "", ...lines] = head.trimEnd().split(/\r?\n/);
  const [, method, url] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || url === undefined) {
    throw new Error('it must be "POST /webhooks/stripe HTTP/1.1", headers, an empty line, a body');
  }
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1)];
  });
  const found = Object.fromEntries(headers);
  if (found["transfer-encoding"] !== undefined) throw new Error("its body is in chunks");
  const body = bytes.subarray(head.length);
  const length = Number(found["content-length"] ?? body.length);
  if (body.length < length) throw new Error(`its body has ${body.length} of ${length} bytes`);
  // An editor may have written a line end behind it.
  return { method, url, headers, body: body.subarray(0, length) };
}
