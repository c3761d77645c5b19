import { EVENT_OPERATIONS } from "./events.ts";
import type { Operation } from "./operation.ts";
import { OVERVIEW_OPERATIONS } from "./overviews.ts";
import { OPEN_OPERATIONS } from "./session.ts";
import { WRITE_OPERATIONS } from "./writes.ts";

/** Every call of the API. */
export const OPERATIONS: readonly Operation[] = [
  ...OPEN_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...WRITE_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
];
