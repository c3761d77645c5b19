import { createHash, timingSafeEqual } from "node:crypto";
import { headerOf, textToHeader } from "../headers.ts";
import { refuse } from "../refuse.ts";
import { keysIn } from "./key-reader.ts";
import { prepareSecrets } from "./prepare-secrets.ts";
import type { Scheme } from "./scheme.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";

/**
 * The secret itself in a header. It tells who sends and covers nothing: neither body, nor id, nor time. Only for
 * senders that have nothing better, and only over TLS.
 */
export function tokenScheme(header: string): Scheme {
  return {
    createVerifier(secrets) {
      const keys = prepareSecrets(secrets, sameText);
      return {
        verify(delivery) {
          const value = headerOf(delivery, header) ?? "";
          const isKnown = keys.some((key) => key.accepts([value], []));
          return isKnown
            ? { ok: true }
            : refuse(
                "invalid_signature",
                `Cannot verify the delivery: ${header} is no live secret`,
              );
        },
      };
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
    const digest = sha256(inHeader);
    return {
      accepts: ([value]) => typeof value === "string" && timingSafeEqual(digest, sha256(value)),
      sign: () => inHeader,
    };
  },
};

function sha256(value: string): Buffer {
  return createHash("sha256").update(value, "latin1").digest();
}
