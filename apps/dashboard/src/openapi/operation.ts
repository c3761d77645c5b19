import type { ErrorCode } from "@millrace/core";
import type { z } from "zod";

/** One call of the API, as its document tells of it. */
export interface Operation {
  readonly method: "get" | "post" | "delete";
  /** As the router has it, below `/api`. */
  readonly path: string;
  readonly summary: string;
  /** Who may; `anyone` needs no session and no token. */
  readonly who: "anyone" | "viewer" | "operator";
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** What a call that went well is answered: a schema with its name, or nothing, with 204. */
  readonly answer: readonly [name: string, schema: z.ZodType] | undefined;
  /** What it may be refused with, besides what every call may. */
  readonly errors?: readonly ErrorCode[];
}

/** Every code that a call may be refused with. */
export function errorsOf({ who, method, errors = [] }: Operation): readonly ErrorCode[] {
  const isWrite = method !== "get";
  return [
    ...errors,
    ...(who === "anyone" ? [] : BEHIND_THE_DOOR),
    ...(isWrite ? (["unsupported_media_type"] as const) : []),
    ...(method === "post" ? (["invalid_request", "body_too_large"] as const) : []),
    ...ALWAYS,
  ];
}

// `forbidden` is also the answer to a request that names another host.
const ALWAYS = ["forbidden", "internal"] as const;
const BEHIND_THE_DOOR = ["unauthorized", "too_many_failures", "unavailable"] as const;
