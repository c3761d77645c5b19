import type { Answer, ErrorCode, Refusal } from "@millrace/core";

/** An answer as a provider writes it: text, or a value that is sent as JSON. */
export interface AnswerParts {
  readonly status?: number;
  readonly body?: string | object;
  /** Content type. Default: `application/json` for a value, `text/plain` for text. */
  readonly type?: string;
}

export const OK_ANSWERS: { readonly accepted: Answer; readonly duplicate: Answer } = {
  accepted: createAnswer({ body: { status: "accepted" } }),
  duplicate: createAnswer({ body: { status: "duplicate" } }),
};

export function createAnswer({ status = 200, body = "", type }: AnswerParts): Answer {
  const contentType =
    type ?? (typeof body === "string" ? "text/plain; charset=utf-8" : "application/json");
  return {
    status,
    // A handshake echoes what a stranger sent: no browser may take it for a page.
    headers: {
      "content-type": contentType,
      ...(typeof body === "string" &&
        type === undefined && { "x-content-type-options": "nosniff" }),
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
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
