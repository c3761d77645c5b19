import type { Delivery, SourceDefinition } from "@millrace/core";
import * as senders from "../senders.ts";
import { deliveryOf } from "./sign-delivery.ts";

/** A delivery that a sender's SDK or page made. */
export interface Vector {
  readonly provenance: string;
  readonly options?: object;
  readonly secret: string;
  readonly receivedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly events: readonly { readonly eventId?: string; readonly type: string }[];
}

const functions = senders as unknown as Record<string, (options?: object) => SourceDefinition>;

/** The source of a provider by its name: `hook-mesh`. */
function sourceOf(name: string, options?: object): SourceDefinition {
  const camel = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const make = functions[camel];
  if (make === undefined) throw new Error(`${camel} is no provider`);
  return make(options);
}

/** A vector by the name and the text of its file. */
export function vectorOf(file: string, text: string) {
  const vector = JSON.parse(text) as Vector;
  const name = file.replace(/\.json$/, "");
  return { name, vector, source: sourceOf(name, vector.options) };
}

/** A sample that its provider signs, for senders that tests compare with their SDKs. */
export function sampleOf(name: string, source: SourceDefinition) {
  const { provider } = source;
  const [type = ""] = provider.sampleTypes;
  const request = { eventId: "0c7d6a1e", type, nowMs: Date.now() };
  const [secret, body] = [provider.generateSecret(), provider.sample(request)];
  const headers = provider.sign({ ...request, secret, body: Buffer.from(body) });
  const vector = { secret, body, headers, receivedAtMs: request.nowMs, events: [{ type }] };
  return { name, source, vector };
}

interface SentDelivery {
  readonly name: string;
  readonly source: SourceDefinition;
  readonly vector: Omit<Vector, "provenance">;
}

/** Every change of a delivery here that its receiver must refuse. */
export async function attacksOn({ name, source, vector }: SentDelivery) {
  const { headers, body } = vector;
  const isAuthenticatedOnly = source.provider.authenticatedOnly === true;
  const signed = await signedHeaders(source, vector);
  const ofHeaders = signed.flatMap((header) =>
    changedValues(headers[header] ?? "").map((value) => ({ ...headers, [header]: value })),
  );
  return [
    ...(isAuthenticatedOnly ? [] : changedBodies(body).map((one) => ({ headers, body: one }))),
    ...ofHeaders.map((one) => ({ headers: one, body })),
    // Adyen's signature stands in the body.
    ...(name === "adyen" ? [] : [{ headers: {}, body }]),
  ];
}

/** True where a signed time must be refused a day later and a day earlier. */
export async function signsTime({ source, vector }: SentDelivery) {
  const signed = await signedHeaders(source, vector);
  return signed.some((header) => {
    return /timestamp/.test(header) || /^ts?=/.test(vector.headers[header] ?? "");
  });
}

/** The headers without which a delivery is refused. */
export async function signedHeaders(
  { provider }: SourceDefinition,
  { secret, headers, body, receivedAtMs }: Omit<Vector, "provenance">,
): Promise<readonly string[]> {
  const good = deliveryOf(headers, body, receivedAtMs);
  const verifier = provider.createVerifier([secret]);
  const verify = async (header: string) => {
    const changed: Delivery = { ...good, headers: { ...good.headers, [header]: undefined } };
    return (await verifier.verify(changed)).ok ? [] : [header];
  };
  return (await Promise.all(Object.keys(good.headers).map(verify))).flat();
}

/** The body with one bit of each byte changed, cut, padded, doubled, and rewritten. */
export function changedBodies(body: string): readonly Buffer[] {
  const flipped = Array.from(Buffer.from(body), (byte, at) => {
    const changed = Buffer.from(body);
    changed[at] = byte ^ 1;
    return changed;
  });
  const rewritten = [
    ...[body.slice(0, -1), `${body} `, `\ufeff${body}`, body + body, `${body}\r\n`],
  ].map((text) => Buffer.from(text));
  return [...flipped, ...rewritten];
}

/** A signature, an id, or a time: removed, cut, padded, doubled, changed, and encoded again. */
export function changedValues(value: string): readonly string[] {
  const last = value.at(-1) === "0" ? "1" : "0";
  // Twice among pairs is two times; behind each other, the second signature is a good one.
  const doubled = /^ts?=/.test(value) ? `${value};${value}, ${value}` : value + value;
  const changed = [
    ...["", value.slice(0, -1), `${value}A`, doubled, `A${value}`],
    value.replace(/.(?==*$)/, last),
    encodeURIComponent(`${value}%`),
  ];
  return changed.filter((one) => one !== value);
}
