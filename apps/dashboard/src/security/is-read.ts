import type { Request } from "express";

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request can change nothing, by its method (RFC 9110 calls these safe). */
export const isRead = (request: Request): boolean => READS.has(request.method);
