import type { Answer, ErrorCode, Refusal } from "@millrace/core";

export const OK_ANSWERS: { readonly accepted: Answer; readonly duplicate: Answer } = {
  accepted: jsonAnswer({ status: "accepted" }),
  duplicate: jsonAnswer({ status: "duplicate" }),
};

export function jsonAnswer(value: unknown): Answer {
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
  };
}

/** A handshake's challenge as plain text; undefined for anything but short printable ASCII. */
export function echoAnswer(challenge: string | undefined): Answer | undefined {
  if (challenge === undefined || !/^[\x21-\x7e]{1,1024}$/.test(challenge)) return undefined;
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: challenge,
  };
}

export function refuse(code: ErrorCode, message: string): Refusal {
  return { ok: false, code, message };
}
