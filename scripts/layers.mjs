/** The workspaces that each workspace can import, and no others. */
const CORE = ["@millrace/core"];
const CONTRACT = [...CORE, "@millrace/api-contract"];
const LOWER = [...CONTRACT, "@millrace/providers", "@millrace/queue", "@millrace/ledger"];
const MIDDLE = [
  ...LOWER,
  "@millrace/intake",
  "@millrace/processor",
  "@millrace/operations",
  "@millrace/service",
];
const UPPER = [...MIDDLE, "@millrace/connect"];
// A browser runs it; to the rest it is a folder.
const PAGE = ["@millrace/ledger-page"];
const APPS = ["@millrace/ingress", "@millrace/worker", "@millrace/dashboard"];

export const LAYERS = {
  "@millrace/core": [],
  "@millrace/api-contract": CORE,
  "@millrace/providers": CORE,
  "@millrace/queue": CORE,
  "@millrace/ledger": CONTRACT,
  "@millrace/embedded-postgres": CORE,
  "@millrace/intake": LOWER,
  "@millrace/processor": LOWER,
  "@millrace/operations": LOWER,
  "@millrace/service": LOWER,
  "@millrace/connect": MIDDLE,
  millrace: [...UPPER, "@millrace/embedded-postgres"],
  "@millrace/ingress": UPPER,
  "@millrace/worker": UPPER,
  "@millrace/ledger-page": CONTRACT,
  "@millrace/dashboard": [...UPPER, ...PAGE],
  "@millrace/cli": [...UPPER, ...APPS, "@millrace/embedded-postgres", "millrace"],
  "@millrace/example-store": ["millrace"],
  "@millrace/example-express": ["millrace"],
  "@millrace/example-fastify": ["millrace"],
  "@millrace/example-hono": ["millrace"],
  "@millrace/example-next": ["millrace"],
  "@millrace/test": "any",
};

/** Workspaces that do no I/O, and the modules that do it. */
export const PURE = ["@millrace/core", "@millrace/api-contract", "@millrace/providers"];
export const IO =
  /^(node:)?(fs|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|cluster)(\/|$)|^(pg|ioredis|bullmq|express)(\/|$)/;
