import { growth } from "./growth.mjs";
import { handlers } from "./handlers.mjs";
import { ingress, pipeline } from "./ingress.mjs";
import { latency } from "./latency.mjs";
import { memory } from "./memory.mjs";
import { careful, contended, worker } from "./workers.mjs";

/**
 * By the name that `npm run bench` takes. A part has `contenders`, of which the first is the baseline, and `run`,
 * which measures some of them and gives results by name. `settings` are the Postgres settings that it needs.
 */
export const PARTS = {
  ingress,
  worker,
  careful,
  contended,
  handlers,
  pipeline,
  latency,
  growth,
  memory,
};
