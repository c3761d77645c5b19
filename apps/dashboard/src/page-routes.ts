import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MillraceError } from "@millrace/core";
import { pageFolder } from "@millrace/ledger-page";
import express, { Router } from "express";
import { PAGE_CSP, securityHeaders } from "./security/browser-security.ts";

const LISTS = ["/", "/events", "/errors", "/runs", "/sources", "/audit"];
const PATHS = [...LISTS, "/event", "/errors/:fingerprint", "/runs/:id"];
const OTHERS = /^\/(?:api|assets|metrics|queues)(?:\/|$)/;
/** Seconds. An asset's name carries a hash of its content. */
const FOR_EVER = 31_536_000;

/** Serves the page to anyone: it holds no data. @throws `internal` when it was not built. */
export function createPageRoutes(): Router {
  const document = readDocument();
  const router = Router();
  router.get(PATHS, securityHeaders(PAGE_CSP), (_request, response) => {
    response.type("html").send(document);
  });
  router.use(
    "/assets",
    express.static(fileURLToPath(new URL("assets/", pageFolder)), {
      index: false,
      redirect: false,
      setHeaders: (response) => {
        response.setHeader("Cache-Control", `public, max-age=${FOR_EVER}, immutable`);
      },
    }),
  );
  // A browser gets the page for an unknown path too, and a program an error.
  router.get(
    "/{*path}",
    (request, _response, next) => {
      const isBrowser = request.accepts(["json", "html"]) === "html";
      next(isBrowser && !OTHERS.test(request.path) ? undefined : "route");
    },
    securityHeaders(PAGE_CSP),
    (_request, response) => void response.status(404).type("html").send(document),
  );
  return router;
}

function readDocument(): string {
  try {
    return readFileSync(new URL("index.html", pageFolder), "utf8");
  } catch (error) {
    throw new MillraceError(
      "internal",
      "Cannot serve the ledger's page: it was not built. Run `npm run build`",
      { cause: error },
    );
  }
}
