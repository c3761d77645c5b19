import { z } from "zod";
import { ERROR_CODES, MillraceError, type ErrorCode } from "@millrace/core";

const listeningSchema = z.object({ kind: z.literal("listening"), port: z.number() });
const failedSchema = z.object({
  kind: z.literal("failed"),
  code: z.string(),
  message: z.string(),
});
const messageSchema = z.discriminatedUnion("kind", [listeningSchema, failedSchema]);

/** What a role's process says over its channel: where it listens, or why it did not start. */
export type ChildMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly error: MillraceError };

/** Reads a message of a child process; undefined for anything else. */
export function readChildMessage(message: unknown): ChildMessage | undefined {
  const parsed = messageSchema.safeParse(message);
  if (!parsed.success) return undefined;
  if (parsed.data.kind === "listening") return parsed.data;
  const { code, message: text } = parsed.data;
  return { kind: "failed", error: new MillraceError(isErrorCode(code) ? code : "internal", text) };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
