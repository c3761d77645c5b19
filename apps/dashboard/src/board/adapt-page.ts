import type { RequestHandler } from "express";
import { HIDDEN_BUTTONS_STYLE } from "./hidden-buttons.ts";

const FOREIGN_LINK = /<link\b[^>]*\bhref="https?:\/\/[^>]*>/g;

/**
 * Adapts the page that is rendered next: takes out links to other hosts (bull-board's asks Google for
 * its fonts, which tells them who looks at a dashboard; it falls back on the system's), and hides the
 * buttons whose writes are refused.
 */
export const adaptPage: RequestHandler = (_request, response, next) => {
  const send = response.send.bind(response);
  response.send = (body: unknown) =>
    send(typeof body === "string" && isHtml(body) ? adapted(body) : body);
  next();
};

const isHtml = (body: string): boolean => /^\s*<!doctype html/i.test(body);

function adapted(page: string): string {
  return page.replaceAll(FOREIGN_LINK, "").replace("</head>", `${HIDDEN_BUTTONS_STYLE}</head>`);
}
