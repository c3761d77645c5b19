import type { RequestHandler } from "express";

/** The policy of answers that are no page, in case a browser shows them as one. */
export const OWN_CSP =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The ledger's page: a script and a stylesheet of files, which ask this server alone. */
export const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** bull-board is an application in the browser that sets styles of its own. */
export const BOARD_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/**
 * The headers that keep a page out of frames, its types as declared and its answers out of caches.
 * The referrer policy is `same-origin`, for under `no-referrer` a browser's own writes would carry
 * `Origin: null`.
 */
export function securityHeaders(csp: string): RequestHandler {
  return (_request, response, next) => {
    response.set({
      "Content-Security-Policy": csp,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cache-Control": "no-store",
    });
    next();
  };
}
