import {
  MillraceError,
  type Delivery,
  type ErrorCode,
  type Refusal,
  type Verification,
} from "@millrace/core";
import { refuse } from "../answers.ts";
import { randomSecret } from "./signature-algorithm.ts";
import { prepareSecrets } from "./prepare-secrets.ts";
import type { Scheme } from "./signature.ts";
import { badSignature, staleBy } from "./signed-message.ts";

/** A delivery as a function of yours verifies it: `text` is its body as UTF-8. */
export interface VerifyRequest extends Delivery {
  readonly text: string;
}

/** `true`, or the bytes that the signature covers; anything else refuses the delivery. */
export type Accepted = true | { readonly signed: Uint8Array };

/**
 * Verifies a delivery with one of the source's live secrets. Only `true` and `{ signed }` accept.
 * An error refuses too, except that a TypeError, a ReferenceError, or a RangeError is a bug and is
 * answered with 500, and `Unavailable` with 503, so that the sender delivers again.
 */
export type VerifyFunction = (
  request: VerifyRequest,
  secret: string,
) => Accepted | false | Promise<Accepted | false>;

/** Thrown by a `verify` that cannot decide now, such as when keys cannot be fetched. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** Thrown by a `verify` for a signed time that is too far from now. */
export class StaleTimestamp extends Error {
  override readonly name = "StaleTimestamp";
  readonly secondsAgo: number | undefined;

  /** @param secondsAgo - from the signed time to now, negative for a time ahead of now. */
  constructor(secondsAgo?: number) {
    super("The signed time is too far from now");
    this.secondsAgo = secondsAgo;
  }
}

export function functionScheme(verify: VerifyFunction, sign?: Scheme["sign"]): Scheme {
  return {
    coversBody: true,
    isPresent: () => true,
    createVerifier(secrets, { respond } = {}) {
      prepareSecrets(secrets, anyText);
      return {
        async verify(delivery) {
          const verified = await verifyWithEach(verify, secrets, delivery);
          return verified.ok ? (respond?.(delivery, () => undefined) ?? verified) : verified;
        },
      };
    },
    sign: sign ?? cannotSign,
    generateSecret: () => randomSecret("sha256"),
    prove: () => undefined,
  };
}

const anyText = { secretForm: "text", prepare: () => true };

function cannotSign(): never {
  throw new MillraceError(
    "missing_secret",
    "Cannot sign: the provider verifies with a function of its own. Give defineProvider a sign too",
  );
}

async function verifyWithEach(
  verify: VerifyFunction,
  secrets: readonly string[],
  delivery: Delivery,
): Promise<Verification> {
  const { body } = delivery;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  const refusals: Refusal[] = [];
  for (const secret of secrets) {
    try {
      const verified = readResult(await verify({ ...delivery, text }, secret), body);
      if (verified.ok) return verified;
      refusals.push(verified);
    } catch (error) {
      refusals.push(refusalOf(error));
    }
  }
  return worstOf(refusals);
}

function readResult(result: unknown, body: Uint8Array): Verification {
  if (result === false) return NO_MATCH;
  const signed: unknown = Reflect.get(Object(result), "signed");
  if (result === true || signed === body) return { ok: true };
  if (signed instanceof Uint8Array) return { ok: true, signed: [signed] };
  const error = new Error("verify must return true, false, or { signed }");
  return { ...NO_MATCH, error };
}

const NO_MATCH = badSignature("no_secret_matches", "verify accepts it with no live secret");

function refusalOf(error: unknown): Refusal {
  if (error instanceof Unavailable) {
    return refuse("unavailable", "Cannot verify the delivery now. Send again later");
  }
  if (error instanceof StaleTimestamp) return staleBy(error.secondsAgo);
  const isBug =
    error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  if (!isBug) return NO_MATCH;
  return { ...refuse("provider_failed", "Cannot verify the delivery: its provider failed"), error };
}

const SEVERITY: readonly ErrorCode[] = ["provider_failed", "unavailable", "invalid_timestamp"];

/** The refusal that a sender should act on: one that a later delivery may not get. */
function worstOf(refusals: readonly Refusal[]): Refusal {
  const worst = SEVERITY.map((code) => refusals.find((refusal) => refusal.code === code));
  const withError = refusals.find(({ error }) => error !== undefined);
  return worst.find((refusal) => refusal !== undefined) ?? withError ?? NO_MATCH;
}
