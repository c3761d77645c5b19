import { readForm } from "./form.ts";

/**
 * Parses an event's body: JSON in UTF-8, or the JSON in the one field `payload` of a form, which is
 * how GitHub delivers by default (`content_type: form`) and Slack delivers interactions. Undefined for
 * any other body.
 *
 * Source: https://docs.github.com/webhooks/webhook-events-and-payloads
 */
export function parsePayload(body: Uint8Array): { readonly value: unknown } | undefined {
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    return undefined;
  }
  return parseJson(text) ?? parseJson(formPayload(body) ?? "");
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function formPayload(body: Uint8Array): string | undefined {
  const fields = readForm(body)?.filter(([name]) => name === "payload") ?? [];
  return fields.length === 1 ? fields[0]?.[1] : undefined;
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
