import type { RequestHandler } from "express";

/**
 * Hides the buttons of bull-board whose writes are refused here. Its own options hide all of them,
 * with retry, promote and pause among them (`readOnlyMode`), or none. Neither its elements nor its
 * labels, which are translated, name an action, so the buttons are found by position; a test
 * compares the positions with the shipped code. A button that is missed is refused all the same.
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
 * Adapts the page that is rendered next. Links to other hosts go: bull-board loads its fonts from
 * Google, which reveals the users of a dashboard, and falls back to system fonts. Buttons whose
 * writes are refused are hidden.
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
