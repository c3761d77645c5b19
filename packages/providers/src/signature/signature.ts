import type {
  Delivery,
  DeliveryHead,
  SignRequest,
  SignedMessage,
  Verification,
  Verifier,
  VerifierOptions,
} from "@millrace/core";
import { headerOf, textToHeader } from "../identity/locations.ts";
import { prepareSecrets, splitKey } from "./prepare-secrets.ts";
import { algorithmOf, randomSecret, type SigningKey } from "./signature-algorithm.ts";
import {
  parseSignature,
  type ParsedSignature,
  type SignatureOptions,
} from "./signature-options.ts";
import {
  badSignature,
  checkAge,
  compileTemplate,
  type MessageTemplate,
  readHeadParts,
  readSignedAt,
  TOLERANCE_MS,
  writeTimestamp,
} from "./signed-message.ts";

/**
 * Signs a challenge with the key that verified a delivery; undefined for text that could be a
 * message of the sender's.
 */
export type Prove = (text: string) => string | undefined;

export interface SchemeOptions extends VerifierOptions {
  /** The answer to a verified delivery that is a handshake; undefined for events. */
  readonly respond?: ((delivery: Delivery, prove: Prove) => Verification | undefined) | undefined;
}

/** The way a sender signs: what `signature()` makes of data, or a function of the user's. */
export interface Scheme {
  /** False when a delivery is authenticated only: nothing covers its body. */
  readonly coversBody: boolean;
  readonly signedUrl?: string | undefined;
  /** False when the sender's keys are fetched. Default: true. */
  readonly needsSecret?: boolean;
  /** True when a delivery's head has this scheme's header. */
  isPresent(head: DeliveryHead): boolean;
  /** @throws `missing_secret`, as a provider's */
  createVerifier(secrets: readonly string[], options?: SchemeOptions): Verifier;
  /** The headers that carry the signature, and whatever else is signed. @throws as above */
  sign(request: SignRequest): Record<string, string>;
  generateSecret(): string;
  /** Signs a text as the first secret would; for answers to challenges, which nobody signed. */
  prove(secrets: readonly string[], text: string): string | undefined;
}

/**
 * The way of most senders, as data: a signature in a header, compared in constant time, over the
 * raw bytes, with each live secret.
 *
 * @throws `invalid_config` with every problem at once.
 */
export function signature(options: SignatureOptions): Scheme {
  const parsed = parseSignature(options);
  const { header, message, idHeader, time } = parsed;
  const headers = [header].flat();
  const algorithm = algorithmOf(parsed);
  const format = formatOf(parsed);
  const isToken = parsed.algorithm === "token";
  const compile = (url = "") =>
    compileTemplate(typeof message === "string" ? message.replace("{url}", () => url) : "");

  /** The signatures in a head and its part of the message, or why no body can match them. */
  function readHead(head: DeliveryHead, template: MessageTemplate) {
    const written = headers.flatMap((name) => format.read(headerOf(head, name) ?? ""));
    const texts = written.flatMap(({ candidates }) => candidates);
    const signatures = texts.flatMap((text) => algorithm.decode(text) ?? []);
    const names = headers.join(" and ");
    if (headers.every((name) => (headerOf(head, name) ?? "") === "")) {
      return badSignature("header_missing", `${names} is missing`);
    }
    if (signatures.length === 0) return badSignature("malformed", `${names} holds no signature`);
    const timestamps = written.flatMap((one) => one.timestamps);
    const parts = readHeadParts(head, { timestamps, time, idHeader, template });
    return "code" in parts ? parts : { signatures, parts };
  }

  return {
    coversBody: !isToken,
    signedUrl: parsed.url,
    isPresent: (head) => headers.some((name) => headerOf(head, name) !== undefined),

    createVerifier(secrets, { url = parsed.url, key = parsed.key, respond, ...given } = {}) {
      const { toleranceMs = parsed.toleranceMs ?? TOLERANCE_MS } = given;
      const keys = prepareSecrets(secrets, algorithmOf({ ...parsed, key }));
      const template = compile(url);
      return {
        verify(delivery): Verification {
          const head = readHead(delivery, template);
          if ("code" in head) return head;
          const { signatures, parts } = head;
          const messages =
            typeof message === "string"
              ? [template.build({ ...parts, body: delivery.body })]
              : message(delivery, url ?? "");
          const match = firstMatch(keys, messages, signatures);
          if (match === undefined) {
            return badSignature("no_secret_matches", `${headers[0]} matches no live secret`);
          }
          // Last: here invalid_timestamp means a real delivery that is old, or a clock.
          const signedAtMs = readSignedAt(delivery, parts, time);
          if (typeof signedAtMs === "object") return signedAtMs;
          if (signedAtMs !== undefined) {
            const refusal = checkAge(signedAtMs, delivery.receivedAtMs, toleranceMs);
            if (refusal !== undefined) return refusal;
          }
          const handshake = respond?.(delivery, (text) => proveWith(match.key, text));
          if (handshake !== undefined) return handshake;
          // Of a body that was signed alone, its own hash is the digest.
          const { signed } = match;
          const isBody = signed.length === 1 && signed[0] === delivery.body;
          return isBody ? { ok: true } : { ok: true, signed };
        },

        precheck(head, readMs) {
          const read = readHead(head, template);
          if ("code" in read) return read;
          if (isToken && firstMatch(keys, [[]], read.signatures) === undefined) {
            return badSignature("no_secret_matches", `${headers[0]} is no live secret`);
          }
          if (time === undefined || time.json !== undefined) return undefined;
          // A message that is signed ahead of now comes into the tolerance while its body is read.
          return checkAge(read.parts.tsMs, head.receivedAtMs, toleranceMs, readMs);
        },
      };
    },

    sign({ secret, eventId, body, nowMs, url = parsed.url }) {
      const [key] = prepareSecrets([secret], algorithm);
      const ts = time === undefined ? "" : writeTimestamp(nowMs, time.unit);
      const id = textToHeader(eventId);
      const [first] =
        typeof message === "string"
          ? [compile(url).build({ id, ts, body })]
          : message({ url: "", body }, url ?? "");
      const signed = first === undefined ? "" : (key?.sign(first) ?? "");
      return {
        ...(idHeader !== undefined && { [idHeader]: id }),
        ...(time?.header !== undefined && { [time.header]: ts }),
        [headers[0] ?? ""]: format.write(signed, ts),
      };
    },

    generateSecret: () => randomSecret(parsed.algorithm, [parsed.key].flat()),
    prove(secrets, text) {
      const [key] = prepareSecrets(secrets, algorithm);
      return key && proveWith(key, text);
    },
  };
}

// A challenge has no JSON, no form and no text of a template in it.
function proveWith(key: SigningKey, text: string): string | undefined {
  const isChallenge = /^[\w-]{1,256}=*$/.test(text) && !/^(?:-?\d+|true|false|null)$/.test(text);
  return isChallenge ? key.sign([text]) : undefined;
}

/** The key that signed, and which of the messages. */
function firstMatch(
  keys: readonly SigningKey[],
  messages: readonly SignedMessage[],
  signatures: readonly Uint8Array[],
): { readonly key: SigningKey; readonly signed: SignedMessage } | undefined {
  for (const key of keys) {
    const signed = messages.find((message) => key.accepts(message, signatures));
    if (signed !== undefined) return { key, signed };
  }
  return undefined;
}

/** Several ways that one sender signs: the first whose header is there counts, and it signs so. */
export function firstPresent(schemes: Scheme | readonly [Scheme, ...Scheme[]]): Scheme {
  if ("createVerifier" in schemes) return schemes;
  return {
    ...schemes[0],
    coversBody: schemes.every(({ coversBody }) => coversBody),
    isPresent: (head) => schemes.some((scheme) => scheme.isPresent(head)),
    createVerifier(secrets, options) {
      const verifiers = schemes.map((scheme) => scheme.createVerifier(secrets, options));
      const indexOf = (head: DeliveryHead) => schemes.findIndex((one) => one.isPresent(head));
      const choose = (head: DeliveryHead) => verifiers[Math.max(indexOf(head), 0)] as Verifier;
      return {
        verify: (delivery) => choose(delivery).verify(delivery),
        precheck: (head, readMs) => choose(head).precheck?.(head, readMs),
      };
    },
  };
}

/** The same for secrets with a key in front, which signs nothing: `key:secret`. */
export function behindKey(scheme: Scheme): Scheme {
  const bare = (secrets: readonly string[]) => secrets.map((secret) => splitKey(secret)[1]);
  return {
    ...scheme,
    createVerifier: (secrets, options) => scheme.createVerifier(bare(secrets), options),
    sign: (request) => scheme.sign({ ...request, secret: splitKey(request.secret)[1] }),
    generateSecret: () => `${scheme.generateSecret().slice(0, 16)}:${scheme.generateSecret()}`,
    prove: (secrets, text) => scheme.prove(bare(secrets), text),
  };
}

/** Standard Webhooks. Senders differ in how a secret becomes a key, and in the headers' prefix. */
export function standardSignature(
  key: SignatureOptions["key"] = "base64",
  prefix = "webhook",
): Scheme {
  return signature({
    ...{ header: `${prefix}-signature`, algorithm: "standard", key },
    message: `{header:${prefix}-id}.{ts}.{body}`,
    time: { header: `${prefix}-timestamp` },
  });
}

/** As Slack signs: version, time, and body, with `v0=` in front. */
export function v0Signature(prefix: string, own?: Partial<SignatureOptions>): Scheme {
  return signature({
    header: `${prefix}-signature`,
    prefix: "v0=",
    message: "v0:{ts}:{body}",
    time: { header: `${prefix}-request-timestamp` },
    ...own,
  });
}

/** As Stripe signs: time and body, with `t=<time>,v1=<signature>` in the header. */
export function timedSignature(header: string, own?: Partial<SignatureOptions>): Scheme {
  return signature({
    header,
    pairs: { separator: ",", signature: "v1", time: "t" },
    message: "{ts}.{body}",
    time: {},
    ...own,
  });
}

/** Senders write two signatures while a secret changes; ten thousand must not be compared. */
const LIST_ITEMS_MAX = 32;

/**
 * The way that signatures stand in their header: alone, where a header that came twice reads "a, b"
 * and is refused; among pairs in any order (`t=<time>,v1=<hex>`), where one that came twice has two
 * times and is refused; or in the list of Standard Webhooks (`v1,<base64> v1a,<base64>`), where one
 * that came twice is a longer list. Items of other names are skipped.
 */
function formatOf({ algorithm, pairs, prefix }: ParsedSignature) {
  const isList = algorithm === "standard";
  const separator = isList ? " " : pairs?.separator;
  const name = pairs === undefined ? prefix : `${pairs.signature}=`;
  const timeName = pairs?.time === undefined ? undefined : `${pairs.time}=`;
  return {
    read(value: string) {
      const items =
        separator === undefined
          ? [value]
          : value.split(separator, LIST_ITEMS_MAX).map((item) => item.trim());
      return {
        candidates: behind(isList ? "v1" : name, items),
        timestamps: timeName === undefined ? [] : behind(timeName, items),
      };
    },
    write: (text: string, ts: string) =>
      (timeName === undefined ? "" : timeName + ts + separator) + (isList ? "v1," : name) + text,
  };
}

function behind(name: string, items: readonly string[]): string[] {
  return items.filter((item) => item.startsWith(name)).map((item) => item.slice(name.length));
}
