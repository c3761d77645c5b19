import { EventEmitter, once } from "node:events";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { MillraceError, type EventLookup } from "@millrace/core";
import { openBody, type ShowDeps } from "@millrace/operations";
import { reasonOf } from "@millrace/service";
import type { CliContext, Output } from "../context.ts";

export async function writeBody(
  { stdout }: CliContext,
  deps: ShowDeps,
  lookup: EventLookup,
  to: string | true,
): Promise<"written" | undefined> {
  if (to === true && stdout.isTTY === true) {
    throw new MillraceError(
      "invalid_request",
      "Cannot write the body to a terminal: name a file (--body event.json), or redirect the output",
    );
  }
  const body = await openBody(deps, lookup);
  if (body === undefined) return undefined;
  if (to === true) {
    for await (const part of body.parts) await write(stdout, part);
  } else {
    await pipeline(body.parts, createWriteStream(to)).catch((error: unknown) => {
      if (error instanceof MillraceError) throw error;
      throw new MillraceError("invalid_request", `Cannot write the body: ${reasonOf(error)}`, {
        cause: error,
      });
    });
  }
  return "written";
}

/** Waits for a reader that is slower than Postgres. */
async function write(to: Output, part: Uint8Array): Promise<void> {
  if (to.write(part) === false && to instanceof EventEmitter) await once(to, "drain");
}
