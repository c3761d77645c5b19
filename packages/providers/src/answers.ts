import type { Answer, ErrorCode, Refusal } from "@millrace/core";

/** An answer as a provider writes it: text, or a value that is sent as JSON. */
export interface AnswerParts {
  readonly status?: number;
  readonly body?: string | object;
  /** Content type. Default: `application/json` for a value, `text/plain` for text. */
  readonly type?: string;
}

// A handshake echoes what a stranger sent: no browser may take it for a page.
const TEXT = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
const JSON_TYPE = { "content-type": "application/json" };

export function createAnswer({ status = 200, body = "", type }: AnswerParts): Answer {
  const isText = typeof body === "string";
  const usual = isText ? TEXT : JSON_TYPE;
  return {
    status,
    headers: type === undefined ? usual : { "content-type": type },
    body: isText ? body : JSON.stringify(body),
  };
}

/** A handshake's challenge as plain text; undefined for anything but short printable ASCII. */
export function echo(challenge: string | undefined): AnswerParts | undefined {
  if (challenge === undefined || !/^[\x21-\x7e]{1,1024}$/.test(challenge)) return undefined;
  return { body: challenge };
}

export function refuse(code: ErrorCode, message: string): Refusal {
  return { ok: false, code, message };
}

/** The refusal of a handshake without a challenge. */
export function noChallenge(): Refusal {
  return refuse("invalid_body", "Cannot answer the handshake: it holds no challenge");
}
