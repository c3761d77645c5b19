import { readKey, type KeyEncoding } from "./key-encoding.ts";

/** How a sender's secrets become keys. */
export interface KeyReader {
  /** The bytes that a secret may stand for, the likeliest first; none when it is no secret. */
  read(secret: string): readonly Uint8Array[];
  /** What a right secret looks like, for whoever has set a wrong one: "must be <form>". */
  readonly form: string;
}

const FORMS: Readonly<Record<KeyEncoding, string>> = {
  utf8: "text of at least 8 bytes, not counting a whsec_ in front",
  hex: "at least 32 hexadecimal digits, an even number of them",
  base64: "the base64 of at least 16 bytes, with its padding, with whsec_ in front or without",
};

/** Reads keys in one encoding. */
export function keysIn(encoding: KeyEncoding): KeyReader {
  return {
    read: (secret) => {
      const key = readKey(secret, encoding);
      return key === undefined ? [] : [key];
    },
    form: FORMS[encoding],
  };
}
