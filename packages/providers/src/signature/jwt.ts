import { hash, type KeyObject } from "node:crypto";
import type { DeliveryHead } from "@millrace/core";
import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { headerOf } from "../identity/locations.ts";
import { ENCODINGS, keysIn, prepareSecrets, type SignatureEncoding } from "./prepare-secrets.ts";
import {
  isPublicKeyName,
  isSameText,
  publicKeyAlgorithm,
  publicKeyOf,
  randomSecret,
} from "./signature-algorithm.ts";
import { headerName, parseOptions } from "./signature-options.ts";
import type { Scheme } from "./signature.ts";
import { badSignature, TOLERANCE_MS } from "./signed-message.ts";
import {
  functionScheme,
  StaleTimestamp,
  Unavailable,
  type VerifyFunction,
} from "./verify-function.ts";

/** A sender that authenticates itself with a JSON Web Token in a header. */
export interface JwtOptions {
  /** The one algorithm that is accepted. The key of `HS256` is the source's secret. */
  algorithm: "RS256" | "ES256" | "EdDSA" | "HS256";
  /**
   * URL of the sender's public keys (JWKS); the source needs no secret then. Without it, the secret
   * is the key: the sender's public key, in base64 or PEM.
   */
  keys?: string | undefined;
  /** The `aud` of the tokens, which `keys` require: others have tokens of the sender too. */
  audience?: string | undefined;
  issuer?: string | undefined;
  /** Other claims and their values, such as `{ email_verified: true }`. */
  claims?: Record<string, string | boolean> | undefined;
  /**
   * Claim with the SHA-256 of the body in hexadecimal, base64, or base64url. Without it, nothing
   * covers the body, and the source is authenticated only.
   */
  bodyHash?: string | undefined;
  /** Header with the token, behind `Bearer ` or alone. Default: `authorization`. */
  header?: string | undefined;
}

const text = z.string().min(1);
const KEYS_URL = /^(https:\/\/[a-z0-9.-]+(:\d+)?|http:\/\/(127\.0\.0\.1|localhost):\d+)\//;

const schema = z
  .strictObject({
    algorithm: z.enum(["RS256", "ES256", "EdDSA", "HS256"]),
    keys: z.string().regex(KEYS_URL, "must be a URL by https").optional(),
    audience: text.optional(),
    issuer: text.optional(),
    claims: z.record(text, z.union([text, z.boolean()])).default({}),
    bodyHash: text.optional(),
    header: headerName.default("authorization"),
  })
  .refine(({ algorithm, keys }) => keys === undefined || algorithm !== "HS256", {
    path: ["keys"],
    message: "must be missing with HS256, whose key is the secret",
  })
  .refine(({ keys, audience }) => keys === undefined || audience !== undefined, {
    path: ["audience"],
    message: "must be set with keys: others have tokens of the sender too",
  });

/**
 * Verifies a JSON Web Token: with the public keys of a URL, which are fetched at most every 30 s
 * for a key that is unknown, or with the secret. While the keys cannot be had, the answer is 503.
 *
 * @throws `invalid_config` with every problem at once.
 */
export function jwt(options: JwtOptions): Scheme {
  const data = parseOptions("jwt", schema, options);
  const { header, keys, bodyHash } = data;
  const kind = KINDS[data.algorithm];
  const fetched = keys === undefined ? undefined : fetchedKeys(keys);
  const tokenIn = (head: Pick<DeliveryHead, "headers">) =>
    (headerOf(head, header) ?? "").replace(/^Bearer /i, "");

  const verifyWithin = (toleranceMs: number): VerifyFunction => {
    return async (request, secret) => {
      const key = fetched ?? keyOf(kind, secret);
      const { payload } = await jwtVerify(tokenIn(request), key, {
        algorithms: [data.algorithm],
        ...(data.audience !== undefined && { audience: data.audience }),
        ...(data.issuer !== undefined && { issuer: data.issuer }),
        currentDate: new Date(request.receivedAtMs),
        clockTolerance: toleranceMs / 1_000,
      }).catch(staleOr);
      const { exp, iat = 0 } = payload;
      const secondsAgo = Math.round(request.receivedAtMs / 1_000 - iat);
      if (exp === undefined && Math.abs(secondsAgo) * 1_000 > toleranceMs) {
        throw new StaleTimestamp(secondsAgo);
      }
      const isOfBody = (encoding: SignatureEncoding) =>
        isSameText(String(payload[bodyHash ?? ""]), hash("sha256", request.body, encoding));
      return (
        Object.entries(data.claims).every(([name, value]) => payload[name] === value) &&
        (bodyHash === undefined || ENCODINGS.some(isOfBody))
      );
    };
  };

  return {
    ...functionScheme(verifyWithin(TOLERANCE_MS)),
    coversBody: bodyHash !== undefined,
    needsSecret: keys === undefined,
    isPresent: (head) => headerOf(head, header) !== undefined,
    generateSecret: () => randomSecret(kind),
    createVerifier(secrets, { toleranceMs = TOLERANCE_MS, ...rest } = {}) {
      const live = keys === undefined ? secrets : ["fetched keys"];
      const form = isPublicKeyName(kind) ? publicKeyAlgorithm(kind) : sharedKey;
      if (keys === undefined) prepareSecrets<unknown>(secrets, form);
      const precheck = (head: DeliveryHead) => {
        if (tokenIn(head) === "") return badSignature("header_missing", `${header} is missing`);
        const isToken = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(tokenIn(head));
        return isToken ? undefined : badSignature("malformed", `${header} holds no token`);
      };
      const { verify } = functionScheme(verifyWithin(toleranceMs)).createVerifier(live, rest);
      return { verify: (delivery) => precheck(delivery) ?? verify(delivery), precheck };
    },
  };
}

/** The keys of a URL; Unavailable while they cannot be had. */
function fetchedKeys(url: string): JWTVerifyGetKey {
  // Below the second that a verification has.
  const find = createRemoteJWKSet(new URL(url), { timeoutDuration: 900 });
  return async (head, token) => {
    try {
      return await find(head, token);
    } catch (error) {
      const isRefused =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported;
      throw isRefused ? error : new Unavailable("The keys cannot be fetched", { cause: error });
    }
  };
}

function staleOr(error: unknown): never {
  const isStale =
    error instanceof errors.JWTExpired ||
    (error instanceof errors.JWTClaimValidationFailed && error.claim === "nbf");
  throw isStale ? new StaleTimestamp() : error;
}

/** The kind of key that verifies each algorithm. */
const KINDS = { HS256: "sha256", RS256: "rsa", ES256: "p256", EdDSA: "ed25519" } as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

function keyOf(kind: Kind, secret: string): () => KeyObject | Uint8Array {
  const key = isPublicKeyName(kind) ? publicKeyOf(kind, secret) : undefined;
  return () => key ?? Buffer.from(secret);
}

const utf8 = keysIn("utf8");

/** Text that is no public key: everyone has that, and could sign with it. */
const sharedKey = {
  secretForm: `${utf8.form}, and no public key`,
  prepare: (secret: string) =>
    (utf8.read(secret).length > 0 && !secret.includes("PUBLIC KEY-----")) || undefined,
};
