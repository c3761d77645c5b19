import { createHash, timingSafeEqual } from "node:crypto";
import type { Delivery } from "@millrace/core";
import { badSignature } from "./message-parts.ts";
import type { Scheme } from "./scheme.ts";

/**
 * For senders that ask a URL for its challenge by a GET which nobody signs: its query must hold a token that is the
 * user's own. Everything else goes to the scheme of their posts.
 */
export function queryToken(options: { name: string; token: string; posts: Scheme }): Scheme {
  const { name, posts } = options;
  const token = sha256(options.token);
  return {
    createVerifier(secrets, verifierOptions) {
      const verifier = posts.createVerifier(secrets, verifierOptions);
      return {
        verify(delivery) {
          if (delivery.method !== "GET") return verifier.verify(delivery);
          const given = queryValue(delivery, name);
          // Hashes, because they are as long as each other, whatever was sent.
          return given !== undefined && timingSafeEqual(sha256(given), token)
            ? { ok: true }
            : badSignature(`${name} is not the token of this source`);
        },
      };
    },
    sign: posts.sign,
  };
}

/** A value of the query that is there once, decoded; undefined otherwise. */
export function queryValue({ url }: Delivery, name: string): string | undefined {
  const at = url.indexOf("?");
  const values = at === -1 ? [] : new URLSearchParams(url.slice(at + 1)).getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
