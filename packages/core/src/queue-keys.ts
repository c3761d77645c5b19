import {
  createHmac,
  createSecretKey,
  hash,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from "node:crypto";
import { MillraceError } from "./errors.ts";

const KEY_BYTES = 32;
const MAC_CHARS = 43;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[\w+/-]{43}=?$/;

export interface JobSeal {
  /** Which key: the first eight hex digits of its SHA-256. */
  readonly kid: string;
  /** HMAC-SHA256, base64url without padding. */
  readonly mac: string;
}

/** The keys of `MILLRACE_QUEUE_KEY`, comma-separated. The first signs, each of them verifies. */
export class QueueKeys {
  readonly kid: string;
  readonly #signing: KeyObject;
  readonly #live = new Map<string, KeyObject>();

  /** @throws `invalid_config` when one of them is not 32 bytes as hex or base64. */
  constructor(text: string) {
    const keys = split(text).map((part) => decode(part) ?? refuse());
    for (const key of keys) {
      this.#live.set(hash("sha256", key, "hex").slice(0, 8), createSecretKey(key));
    }
    const [[kid, signing] = refuse()] = this.#live;
    this.kid = kid;
    this.#signing = signing;
  }

  sign(text: string): string {
    return macOf(this.#signing, text);
  }

  verify(text: string, { kid, mac }: JobSeal): boolean {
    const key = this.#live.get(kid);
    if (key === undefined || mac.length !== MAC_CHARS) return false;
    const given = Buffer.from(mac);
    const own = Buffer.from(macOf(key, text));
    return given.length === own.length && timingSafeEqual(given, own);
  }
}

export function isQueueKey(text: string): boolean {
  return split(text).every((part) => decode(part) !== undefined);
}

export function makeQueueKey(): string {
  return randomBytes(KEY_BYTES).toString("hex");
}

function macOf(key: KeyObject, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}

function split(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function decode(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, "hex");
  const bytes = BASE64.test(text) ? Buffer.from(text, "base64") : undefined;
  return bytes?.length === KEY_BYTES ? bytes : undefined;
}

function refuse(): never {
  throw new MillraceError(
    "invalid_config",
    "Cannot use MILLRACE_QUEUE_KEY: each key must be 32 bytes as hex or base64, such as `openssl rand -hex 32` prints",
  );
}
