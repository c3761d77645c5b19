import type { Delivery, DeliveryHead, Refusal } from "@millrace/core";
import { createHash, timingSafeEqual } from "node:crypto";
import { headerOf, textToHeader } from "../identity/delivery-reader.ts";
import { keysIn, prepareSecrets } from "./prepare-secrets.ts";
import type { Scheme } from "./signature-scheme.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";
import { badSignature } from "./signed-message.ts";

/** The secret itself in a header, which covers nothing: no body, id or time. Only over TLS. */
export function tokenScheme(header: string): Scheme {
  return {
    createVerifier(secrets) {
      const keys = prepareSecrets(secrets, sameText);
      const refusalOf = (head: DeliveryHead): Refusal | undefined => {
        const value = headerOf(head, header) ?? "";
        return keys.some((key) => key.accepts([value], []))
          ? undefined
          : badSignature(`${header} is no live secret`);
      };
      // The token covers nothing of the body, so the head says all.
      return { verify: (delivery) => refusalOf(delivery) ?? { ok: true }, precheck: refusalOf };
    },
    sign({ secret }) {
      const [key] = prepareSecrets([secret], sameText);
      return { [header]: key?.sign([]) ?? "" };
    },
  };
}

const text = keysIn("utf8");

// Hashes are compared: they are as long as each other, whatever was sent.
const sameText: Pick<SignatureAlgorithm, "prepare" | "secretForm"> = {
  secretForm: text.form,
  prepare(secret) {
    if (text.read(secret).length === 0) return undefined;
    const inHeader = textToHeader(secret);
    const digest = sha256(inHeader, "latin1");
    return {
      accepts: ([value]) =>
        typeof value === "string" && timingSafeEqual(digest, sha256(value, "latin1")),
      sign: () => inHeader,
    };
  },
};

/**
 * For senders that ask a URL for its challenge by an unsigned GET, whose query must hold the
 * user's own token. Everything else goes to the scheme of their posts.
 */
export function queryToken(options: { name: string; token: string; posts: Scheme }): Scheme {
  const { name, posts } = options;
  const token = sha256(options.token, "utf8");
  return {
    createVerifier(secrets, verifierOptions) {
      const verifier = posts.createVerifier(secrets, verifierOptions);
      return {
        verify(delivery) {
          if (delivery.method !== "GET") return verifier.verify(delivery);
          const given = queryValue(delivery, name);
          // Hashes, because they are as long as each other, whatever was sent.
          return given !== undefined && timingSafeEqual(sha256(given, "utf8"), token)
            ? { ok: true }
            : badSignature(`${name} is not the token of this source`);
        },
        precheck: (head, readMs) =>
          head.method === "GET" ? undefined : verifier.precheck?.(head, readMs),
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

// A header is text of one byte a character; as latin1, other text would collide ("Ł" and "A").
function sha256(value: string, encoding: "latin1" | "utf8"): Buffer {
  return createHash("sha256").update(value, encoding).digest();
}
