import { z } from "zod";
import { alertsSchema } from "./alerts.ts";
import type { TableSchema } from "./handler.ts";
import { isFunction, sourceSchema, whole, withUrl } from "./source-schema.ts";
import type { HandlersOption, OnFailed } from "./settings.ts";

export const SOURCE_NAME = /^[a-z][a-z0-9-]{0,39}$/;

export const ingressSchema = z.strictObject({
  bodyTimeoutMs: whole(100, 120_000).default(30_000),
  answerTimeoutMs: whole(100, 30_000).default(2_000),
  inFlightBytesMax: z
    .int()
    .min(65_536)
    .default(64 * 1024 * 1024),
  connectionsMax: z.int().min(1).default(10_000),
  batchMax: whole(1, 1_000).default(100),
  shutdownTimeoutMs: whole(0, 600_000).default(10_000),
});

export const workerSchema = z
  .strictObject({
    concurrency: whole(1, 500).default(20),
    callsMax: whole(1, 10_000).default(200),
    handlerTimeoutMs: whole(10, 3_600_000).default(30_000),
    idleInTransactionTimeoutMs: whole(10, 3_660_000).default(35_000),
    lockTimeoutMs: whole(10, 60_000).default(2_000),
    lockDurationMs: whole(1_000, 600_000).default(12_000),
    stalledIntervalMs: whole(500, 600_000).default(5_000),
    maxStalledCount: whole(1, 1_000).default(20),
    shutdownTimeoutMs: whole(0, 600_000).default(25_000),
  })
  .superRefine(({ handlerTimeoutMs, lockDurationMs, ...worker }, context) => {
    const refuse = (path: keyof typeof worker, bound: string, why: string) =>
      context.addIssue({ code: "custom", path: [path], message: `must be ${bound}, or ${why}` });
    const handler = `than handlerTimeoutMs (${handlerTimeoutMs})`;
    if (worker.idleInTransactionTimeoutMs <= handlerTimeoutMs) {
      const why = "Postgres ends a handler that still has time";
      refuse("idleInTransactionTimeoutMs", `more ${handler}`, why);
    }
    if (worker.lockTimeoutMs >= handlerTimeoutMs) {
      refuse("lockTimeoutMs", `less ${handler}`, "a wait for a lock outlives the handler");
    }
    if (worker.stalledIntervalMs >= lockDurationMs) {
      const bound = `less than lockDurationMs (${lockDurationMs})`;
      refuse("stalledIntervalMs", bound, "dead workers are found late");
    }
  });

const retentionSchema = z
  .strictObject({
    bodiesDays: whole(1, 36_500).default(30),
    keysDays: whole(1, 36_500).default(90),
  })
  .refine(({ bodiesDays, keysDays }) => keysDays >= bodiesDays, {
    path: ["keysDays"],
    message: "must be at least bodiesDays, or bodies would outlive their events",
  });

const reconcilerSchema = z.strictObject({
  intervalMs: whole(100, 3_600_000).default(5_000),
  graceMs: whole(0, 3_600_000).default(5_000),
  sweepIntervalMs: whole(100, 86_400_000).default(600_000),
});

const queueSchema = z.strictObject({
  keepCompletedMs: whole(0, 86_400_000).default(600_000),
  replicas: whole(0, 1).default(0),
  keepCompletedBytes: whole(1_048_576, 1_099_511_627_776).default(268_435_456),
});

const NO_SOURCES =
  "is missing; the file must say: export default defineConfig({ sources: { stripe: stripe() } })";

const handlersSchema = z.custom<HandlersOption>(
  (value) => isFunction(value) || Array.isArray(value),
  "must be a list of on(...), or a function that imports one",
);

const tablesSchema = z.custom<TableSchema>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  'must be an object of Drizzle tables: import * as schema from "./schema.ts"',
);

/** Checks `millrace.config.ts`; `ConfigInput` says what each setting means. */
export const configSchema = z.strictObject({
  sources: z
    .record(z.string().regex(SOURCE_NAME, `must match ${SOURCE_NAME.source}`), sourceSchema, {
      error: ({ code, input }) =>
        code === "invalid_type" && input === undefined ? NO_SOURCES : undefined,
    })
    .refine((sources) => Object.keys(sources).length > 0, "must name at least one source")
    .refine(
      (sources) => Object.keys(sources).length === 0 || Object.keys(withUrl(sources)).length > 0,
      "must name at least one source with a URL: all of them are internal",
    ),
  publicUrl: z
    .string()
    .regex(
      /^https?:\/\/[^\s?#]*[^\s?#/]$/,
      "must be a URL without a query and without / at its end",
    )
    .optional(),
  handlers: handlersSchema.default(() => []),
  schema: tablesSchema.optional(),
  migrations: z.string().min(1).optional(),
  onFailed: z.custom<OnFailed>(isFunction, "must be a function (event) => ...").optional(),
  alerts: alertsSchema,
  retention: retentionSchema.prefault({}),
  reconciler: reconcilerSchema.prefault({}),
  queue: queueSchema.prefault({}),
  errors: z.strictObject({ stack: z.boolean().default(true) }).prefault({}),
  ingress: ingressSchema.prefault({}),
  worker: workerSchema.prefault({}),
});

export type IngressConfig = z.infer<typeof ingressSchema>;
export type WorkerConfig = z.infer<typeof workerSchema>;
export type Config = z.infer<typeof configSchema>;
