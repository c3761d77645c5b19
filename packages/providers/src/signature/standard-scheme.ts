import { hmacAlgorithm } from "./hmac-algorithm.ts";
import type { KeyReader } from "./key-reader.ts";
import type { Scheme } from "./scheme.ts";
import { signatureScheme } from "./signature-scheme.ts";
import { versionList } from "./version-list.ts";

/**
 * The scheme of Standard Webhooks. Senders of the family differ in how a secret becomes a key, and
 * some in the name that their headers begin with (`svix-id`).
 */
export function standardScheme(keys: KeyReader, prefix = "webhook"): Scheme {
  return signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "base64", keys }),
    format: versionList("v1"),
    header: `${prefix}-signature`,
    message: "{id}.{ts}.{body}",
    idHeader: `${prefix}-id`,
    timestamp: { header: `${prefix}-timestamp`, unit: "s" },
  });
}
