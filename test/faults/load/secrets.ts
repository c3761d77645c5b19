import { randomBytes } from "node:crypto";

/** What must be found nowhere but where it belongs: each is searched for after a run. */
export const CANARIES = {
  key: randomBytes(32).toString("base64"),
  hub: `hub-canary-${randomBytes(12).toString("hex")}`,
  authorization: `Bearer authorization-canary-${randomBytes(12).toString("hex")}`,
  queueKey: randomBytes(32).toString("hex"),
  body: `body-canary-${randomBytes(12).toString("hex")}`,
} as const;

/** Signs the jobs of every role. */
export const QUEUE_KEY = CANARIES.queueKey;

/** The environment of the ingresses. */
export const SECRET_VARIABLES = {
  STEADY_WEBHOOK_SECRET: `whsec_${CANARIES.key}`,
  FRAIL_WEBHOOK_SECRET: `whsec_${CANARIES.key}`,
  HUB_WEBHOOK_SECRET: CANARIES.hub,
} as const;
