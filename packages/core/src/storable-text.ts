/** Bytes of UTF-8 that an event id may take. */
export const EVENT_ID_BYTES_MAX = 1_024;
/** Bytes of UTF-8 that an event type may take. */
export const EVENT_TYPE_BYTES_MAX = 256;

/** Characters that a reason for the audit may take. */
export const REASON_LENGTH_MAX = 500;

/**
 * True for text that Postgres stores as it is: without NUL, which its text has none of, and without
 * half a surrogate pair, which UTF-8 cannot hold.
 */
export function isStorable(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}

/** Whether text can be kept as an id or a type: storable, not empty, and within its bytes. */
export function isStorableWithin(text: string, bytesMax: number): boolean {
  return (
    text !== "" &&
    text.length <= bytesMax &&
    Buffer.byteLength(text) <= bytesMax &&
    isStorable(text)
  );
}
