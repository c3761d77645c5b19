import { firstItems, type SignatureFormat } from "./signature-format.ts";

/**
 * A list with spaces between, each item a version and a signature: `v1,<base64> v1,<base64>`. Any
 * item of our version will do, others (`v1a`) are skipped. A header that came twice is one longer
 * list.
 */
export function versionList(version: string): SignatureFormat {
  const start = `${version},`;
  return {
    read(value) {
      const items = firstItems(value, " ").filter((item) => item.startsWith(start));
      // Headers that came twice are joined with ", ": the comma is no part of the signature.
      const candidates = items.map((item) => item.slice(start.length).replace(/,$/, ""));
      return { candidates, timestamps: [] };
    },
    write: (signature) => start + signature,
  };
}
