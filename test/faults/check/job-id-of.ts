import { createHash } from "node:crypto";
import type { Generation } from "./evidence.ts";

/** The job of an event as `source/job id`, by the words of the design and not by our code. */
export function jobIdOf({ source, id, generation }: Generation): string {
  const isReadable =
    /^[A-Za-z0-9_.-]{1,128}$/.test(id) &&
    /[0-9_]/.test(id) &&
    !/^-?\d+$/.test(id) &&
    !/^(h-|g\d+-)/.test(id);
  const first = isReadable ? id : `h-${createHash("sha256").update(id).digest("base64url")}`;
  return `${source}/${generation === 0 ? "" : `g${generation}-`}${first}`;
}
