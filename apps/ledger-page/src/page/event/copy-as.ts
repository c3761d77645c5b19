import type { EventDetail } from "@millrace/api-contract";

type Copied = Pick<EventDetail, "source" | "event_id" | "type" | "headers">;

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Sends the body again, signed with the secret of the machine that runs it. */
export function sendCommand({ source, event_id, type }: Copied, body: string): string {
  const names = [source, type ?? ""].map(quoted).join(" ");
  return `printf '%s' ${quoted(body)} | npx millrace send ${names} --id ${quoted(event_id)} --data -`;
}

/** The delivery as it came, without its signature, which is never kept. */
export function curlCommand({ source, headers }: Copied, body: string): string {
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const url = quoted(`http://localhost:3000/webhooks/${source}`);
  return ["curl -X POST", url, ...given, `--data-binary ${quoted(body)}`].join(" ");
}
