/** A signed message in pieces, so that a body is never copied. Text is one byte a character. */
export type Message = readonly (string | Uint8Array)[];

/** One live secret, made ready. */
export interface SigningKey {
  /** Whether one of the signatures is this key's over the message; compares in constant time. */
  accepts(message: Message, signatures: readonly Uint8Array[]): boolean;
  /** The signature as it stands in a header. */
  sign(message: Message): string;
}

/** What turns secrets into keys, and keys and messages into signatures. */
export interface SignatureAlgorithm {
  /** Undefined when the secret is malformed or too short. */
  prepare(secret: string): SigningKey | undefined;
  /** What a right secret looks like: "it must be <form>". */
  readonly secretForm: string;
  /** A signature's bytes; undefined when the text cannot be one. */
  decode(text: string): Uint8Array | undefined;
}
