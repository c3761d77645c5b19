import { growth } from "./growth.mjs";
import { handlers } from "./handlers.mjs";
import { ingress, pipeline } from "./ingress.mjs";
import { latency } from "./latency.mjs";
import { careful, worker } from "./workers.mjs";

/** By the name that `npm run bench` takes. */
export const PARTS = {
  ingress,
  worker,
  careful,
  handlers,
  pipeline,
  latency,
  growth,
};
