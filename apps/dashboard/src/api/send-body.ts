import { pipeline } from "node:stream/promises";
import type { EventKey } from "@millrace/core";
import type { OpenBody } from "@millrace/operations";
import type { Request, Response } from "express";

/**
 * Sends the bytes of a body as a file to be saved: no browser shows what a sender sent as a page.
 * What fails on the way cuts the connection, so that nobody takes a part for the whole.
 */
export async function sendBody(
  { request, response }: { readonly request: Request; readonly response: Response },
  { length, parts }: OpenBody,
  key: EventKey,
): Promise<void> {
  response.attachment(fileName(key));
  response.set({ "Content-Type": "application/octet-stream", "Content-Length": String(length) });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  try {
    await pipeline(parts, response);
  } catch (error) {
    // A client that went away needs no answer.
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

/** A name that every file system takes. */
const fileName = ({ source, eventId }: EventKey): string =>
  `${source}-${eventId.replaceAll(/[^\w.-]/g, "_").slice(0, 100)}.bin`;
