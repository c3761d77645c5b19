/** How a signature's bytes stand in a header. */
export type SignatureEncoding = "hex" | "base64" | "base64url";

/**
 * Decodes text that is exactly its bytes' encoding, and nothing else. Hex may be in either case;
 * base64 must have its padding and base64url none.
 */
export function decodeStrictly(text: string, encoding: SignatureEncoding): Uint8Array | undefined {
  if (encoding === "hex") {
    // Node stops at the first wrong digit, and takes "š" for "a".
    return text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text)
      ? Buffer.from(text, "hex")
      : undefined;
  }
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}

/** Characters that an encoding takes for so many bytes. */
export function encodedLength(bytes: number, encoding: SignatureEncoding): number {
  if (encoding === "hex") return bytes * 2;
  return encoding === "base64" ? Math.ceil(bytes / 3) * 4 : Math.ceil((bytes * 4) / 3);
}
