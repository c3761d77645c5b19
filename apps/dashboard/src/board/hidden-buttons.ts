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
] as const;

/** The style element of the page's head. */
export const HIDDEN_BUTTONS_STYLE = `<style>${HIDDEN_BUTTONS.join(",")}{display:none!important}</style>`;
