import type { SignatureFormat } from "./signature-format.ts";

/**
 * One signature, behind a fixed prefix if there is one: `sha256=<hex>`. A header that came twice
 * reads "a, b", which is not one signature, and is refused whichever of the two was good.
 */
export function plainSignature(prefix = ""): SignatureFormat {
  return {
    read: (value) => ({
      candidates: value.startsWith(prefix) ? [value.slice(prefix.length)] : [],
      timestamps: [],
    }),
    write: (signature) => prefix + signature,
  };
}
