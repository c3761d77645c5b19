import { z } from "zod";
import { alertsSchema } from "./alerts.ts";
import type { TableSchema } from "./handler.ts";
import { isFunction, sourceSchema, withUrl } from "./source-schema.ts";
import type { HandlersOption, OnFailed } from "./settings.ts";

export const SOURCE_NAME = /^[a-z][a-z0-9-]{0,39}$/;

const ms = (options: { min: number; max: number }) => z.int().min(options.min).max(options.max);

export const ingressSchema = z.strictObject({
  bodyTimeoutMs: ms({ min: 100, max: 120_000 }).default(30_000),
  answerTimeoutMs: ms({ min: 100, max: 30_000 }).default(2_000),
  inFlightBytesMax: z
    .int()
    .min(65_536)
    .default(64 * 1024 * 1024),
  connectionsMax: z.int().min(1).default(10_000),
  batchMax: z.int().min(1).max(1_000).default(100),
  shutdownTimeoutMs: ms({ min: 0, max: 600_000 }).default(10_000),
});

export const workerSchema = z
  .strictObject({
    concurrency: z.int().min(1).max(500).default(20),
    callsMax: z.int().min(1).max(10_000).default(200),
    handlerTimeoutMs: ms({ min: 10, max: 3_600_000 }).default(30_000),
    idleInTransactionTimeoutMs: ms({ min: 10, max: 3_660_000 }).default(35_000),
    lockTimeoutMs: ms({ min: 10, max: 60_000 }).default(2_000),
    lockDurationMs: ms({ min: 1_000, max: 600_000 }).default(12_000),
    stalledIntervalMs: ms({ min: 500, max: 600_000 }).default(5_000),
    maxStalledCount: z.int().min(1).max(1_000).default(20),
    shutdownTimeoutMs: ms({ min: 0, max: 600_000 }).default(25_000),
  })
  .superRefine(({ handlerTimeoutMs, lockDurationMs, ...worker }, context) => {
    const refuse = (path: keyof typeof worker, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (worker.idleInTransactionTimeoutMs <= handlerTimeoutMs) {
      const bound = `must be more than handlerTimeoutMs (${handlerTimeoutMs})`;
      refuse(
        "idleInTransactionTimeoutMs",
        `${bound}, or Postgres ends a handler that still has time`,
      );
    }
    if (worker.lockTimeoutMs >= handlerTimeoutMs) {
      const bound = `must be less than handlerTimeoutMs (${handlerTimeoutMs})`;
      refuse("lockTimeoutMs", `${bound}, or a wait for a lock outlives the handler`);
    }
    if (worker.stalledIntervalMs >= lockDurationMs) {
      const bound = `must be less than lockDurationMs (${lockDurationMs})`;
      refuse("stalledIntervalMs", `${bound}, or dead workers are found late`);
    }
  });

const retentionSchema = z
  .strictObject({
    bodiesDays: z.int().min(1).max(36_500).default(30),
    keysDays: z.int().min(1).max(36_500).default(90),
  })
  .refine(({ bodiesDays, keysDays }) => keysDays >= bodiesDays, {
    path: ["keysDays"],
    message: "must be at least bodiesDays, or bodies would outlive their events",
  });

const reconcilerSchema = z.strictObject({
  intervalMs: ms({ min: 100, max: 3_600_000 }).default(5_000),
  graceMs: ms({ min: 0, max: 3_600_000 }).default(5_000),
  sweepIntervalMs: ms({ min: 100, max: 86_400_000 }).default(600_000),
});

const queueSchema = z.strictObject({
  keepCompletedMs: ms({ min: 0, max: 86_400_000 }).default(600_000),
  replicas: z.int().min(0).max(1).default(0),
  keepCompletedBytes: z.int().min(1_048_576).max(1_099_511_627_776).default(268_435_456),
});

const errorsSchema = z.strictObject({ stack: z.boolean().default(true) });

const onFailedSchema = z.custom<OnFailed>(isFunction, "must be a function (event) => ...");

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
  onFailed: onFailedSchema.optional(),
  alerts: alertsSchema,
  retention: retentionSchema.prefault({}),
  reconciler: reconcilerSchema.prefault({}),
  queue: queueSchema.prefault({}),
  errors: errorsSchema.prefault({}),
  ingress: ingressSchema.prefault({}),
  worker: workerSchema.prefault({}),
});

export type IngressConfig = z.infer<typeof ingressSchema>;
export type WorkerConfig = z.infer<typeof workerSchema>;
export type Config = z.infer<typeof configSchema>;
