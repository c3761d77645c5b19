import { createHmac, timingSafeEqual } from "node:crypto";
import type { Answer, Identification, IdentifiedEvent, Provider, Refusal } from "@millrace/core";

export const SIGNATURE = "x-plain-signature";

export function sign(body: string | Uint8Array, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

const refuse = (code: Refusal["code"]): Refusal => ({
  ok: false,
  code,
  message: `Cannot: ${code}`,
});

/**
 * A provider with everything that a provider can do and no real one here does at once: the body is
 * `{id, type}`, a list of such events, or `{challenge}`, which is a handshake; `{id, says}` is answered with that, and
 * `{prove}` with a signature, which is a handshake too. `{bug}` throws.
 */
export function plainProvider(answers?: { accepted?: Answer; duplicate?: Answer }): Provider {
  return {
    name: "plain",
    methods: ["POST"],
    bodyBytesMax: 4_096,
    keptHeaders: ["x-kept"],
    idIsSigned: true,
    ...(answers === undefined ? {} : { answers }),
    createVerifier: (secrets) => ({
      verify: ({ headers, body }) => {
        const given = Buffer.from(headers[SIGNATURE] ?? "");
        const isSigned = secrets.some((secret) => {
          const expected = Buffer.from(sign(body, secret));
          return expected.length === given.length && timingSafeEqual(expected, given);
        });
        if (!isSigned) return refuse("invalid_signature");
        if (headers["x-stale"] !== undefined) return refuse("invalid_timestamp");
        const asked = /^\{"(prove|challenge)":"([^"]*)"\}$/.exec(Buffer.from(body).toString());
        if (asked === null) return { ok: true };
        const [, kind, text = ""] = asked;
        const answer = kind === "prove" ? sign(text, secrets[0] ?? "") : text;
        return { ok: true, handshake: { status: 200, body: answer } };
      },
    }),
    identify: ({ body }) => identify(body),
    generateSecret: () => "generated",
    sampleTypes: ["thing.happened"],
    sample: ({ eventId, type }) => JSON.stringify({ id: eventId, type }),
    sign: ({ body, secret }) => ({ [SIGNATURE]: sign(body, secret) }),
  };
}

function identify(body: Uint8Array): Identification {
  let parsed: { id?: string; type?: string; says?: string; bug?: boolean };
  try {
    parsed = JSON.parse(Buffer.from(body).toString());
  } catch {
    return refuse("invalid_body");
  }
  if (Array.isArray(parsed)) return { ok: true, events: parsed.map(toEvent) };
  if (parsed.bug === true) throw new TypeError("a provider's own fault, canary-body");
  const answer = parsed.says === undefined ? {} : { answer: { status: 200, body: parsed.says } };
  return { ok: true, events: [toEvent(parsed)], ...answer };
}

function toEvent({ id, type }: { id?: string; type?: string }): IdentifiedEvent {
  return { eventId: id ?? "", type: type ?? "thing.happened" };
}
