import type { RequestHandler } from "express";

/**
 * Hides the buttons of bull-board whose writes are refused here. Its own options hide all of them,
 * with retry, promote and pause among them (`readOnlyMode`), or none. Neither its elements nor its
 * labels, which are translated, name an action, so they are told by their places; a test holds these
 * against the code that is shipped. What this misses is refused all the same.
 */
const HIDDEN_BUTTONS = [
  // A job: duplicate, edit and clean stand last, and second stands what moves a delayed job.
  ".jobActions-XfoQK8 > li:nth-last-child(-n + 3)",
  ".jobActions-XfoQK8 > li:nth-child(2)",
  // A list of jobs: clean all stands last.
  ".queueActions-dnGfku > li:last-child",
  // A queue's menu, which alone has an obliterate: add stands first, and last stand concurrency,
  // empty and obliterate.
  ":has(> .danger-GDAQpl) > :first-child",
  ":has(> .danger-GDAQpl) > :nth-last-child(-n + 3)",
];
const STYLE = `<style>${HIDDEN_BUTTONS.join(",")}{display:none!important}</style>`;

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
  return page.replaceAll(FOREIGN_LINK, "").replace("</head>", `${STYLE}</head>`);
}
