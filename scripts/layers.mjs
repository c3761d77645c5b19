/** Which workspaces each workspace may import; what is not named here may not be imported. */
const CORE = ["@millrace/core"];
const CONTRACT = [...CORE, "@millrace/api-contract"];
const GROUND = [...CONTRACT, "@millrace/providers", "@millrace/queue", "@millrace/ledger"];
const MIDDLE = [
  ...GROUND,
  "@millrace/intake",
  "@millrace/processor",
  "@millrace/operations",
  "@millrace/service",
];
const ABOVE = [...MIDDLE, "@millrace/connect"];
// What a browser runs; to the rest it is a folder.
const PAGE = ["@millrace/ledger-page"];
const APPS = ["@millrace/ingress", "@millrace/worker", "@millrace/dashboard"];

export const LAYERS = {
  "@millrace/core": [],
  "@millrace/api-contract": CORE,
  "@millrace/providers": CORE,
  "@millrace/queue": CORE,
  "@millrace/ledger": CONTRACT,
  "@millrace/embedded-postgres": CORE,
  "@millrace/intake": GROUND,
  "@millrace/processor": GROUND,
  "@millrace/operations": GROUND,
  "@millrace/service": GROUND,
  "@millrace/connect": MIDDLE,
  millrace: [...ABOVE, "@millrace/embedded-postgres"],
  "@millrace/ingress": ABOVE,
  "@millrace/worker": ABOVE,
  "@millrace/ledger-page": CONTRACT,
  "@millrace/dashboard": [...ABOVE, ...PAGE],
  "@millrace/cli": [...ABOVE, ...APPS, "@millrace/embedded-postgres", "millrace"],
  "@millrace/example-store": ["millrace"],
  "@millrace/example-express": ["millrace"],
  "@millrace/example-fastify": ["millrace"],
  "@millrace/example-hono": ["millrace"],
  "@millrace/example-next": ["millrace"],
  "@millrace/test": "any",
};

/** Workspaces that do no I/O, and what they would need for it. */
export const PURE = ["@millrace/core", "@millrace/api-contract", "@millrace/providers"];
export const IO =
  /^(node:)?(fs|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|cluster)(\/|$)|^(pg|ioredis|bullmq|express)(\/|$)/;
