import { z } from "zod";
import { parseFind, SEARCH_KEYS, type FindPath } from "./find-values.ts";
import type { Provider } from "./provider.ts";
import type { ReadSecrets } from "./source-settings.ts";

const findSchema = z
  .string()
  .transform((text) => parseFind(text))
  .refine((path) => path !== undefined, {
    error: `must be a path such as "json:data.customer" or "buyer=json:data.customer", whose name is not among ${SEARCH_KEYS.join(", ")}`,
    abort: true,
  });

export const whole = (min: number, max: number) => z.int().min(min).max(max);

export const sourceOptionsSchema = z.strictObject({
  types: z.array(z.string().min(1)).readonly().optional(),
  secret: z
    .union([z.string(), z.array(z.string())], "must be a string, or a list of strings")
    .optional(),
  secrets: z.custom<ReadSecrets>(isFunction, "must be a function (tenant) => ...").optional(),
  toleranceMs: whole(1_000, 86_400_000).optional(),
  bodyBytesMax: whole(1, 64 * 1024 * 1024).optional(),
  attempts: whole(1, 1_000).default(12),
  backoff: z
    .strictObject({
      firstMs: whole(0, 86_400_000).default(2_000),
      factor: z.number().min(1).max(100).default(3),
      maxMs: whole(0, 86_400_000).default(3_600_000),
    })
    .prefault({}),
  waitMaxMs: whole(1_000, 365 * 86_400_000).default(3 * 86_400_000),
  concurrency: whole(1, 500).optional(),
  rate: z
    .strictObject({
      max: whole(1, 1_000_000),
      perMs: whole(10, 86_400_000).default(1_000),
    })
    .optional(),
  ack: z.enum(["queue", "ledger"]).default("queue"),
  redelivery: z.enum(["retry", "ignore"]).default("retry"),
  bodyDedup: z.boolean().default(true),
  groups: z.boolean().optional(),
  queueDepthMax: z.int().min(1).default(100_000),
  queueAgeMsMax: z.int().min(1_000).optional(),
  find: z
    .array(findSchema)
    .max(8)
    .refine(
      (paths) => new Set(paths.map(({ label }) => label)).size === paths.length,
      "must have a name for each value: write one as name=json:...",
    )
    .readonly()
    .default([]),
  forward: z.boolean().default(false),
  health: z.strictObject({ failedShareMax: z.number().min(0).max(1).optional() }).optional(),
});

const providerSchema = z.custom<Provider>(
  (value) => typeof value === "object" && value !== null && "createVerifier" in value,
  "must come from a provider's function, such as stripe() or hmac({...})",
);

export const sourceSchema = z
  .strictObject(
    { provider: providerSchema, options: sourceOptionsSchema.prefault({}) },
    "must come from a provider's function, such as stripe() or hmac({...})",
  )
  .superRefine(
    ({ provider }, context) => {
      for (const { path, message } of provider.problems ?? []) {
        context.addIssue({ code: "custom", path: [...path], message });
      }
    },
    // A policy of the wrong shape would hide them otherwise.
    {
      when: ({ value }) => providerSchema.safeParse(Reflect.get(Object(value), "provider")).success,
    },
  )
  .superRefine(({ provider, options: { secret, secrets } }, context) => {
    const refuse = (option: "secret" | "secrets", why: string) => {
      const message = `cannot be set: ${why}`;
      context.addIssue({ code: "custom", path: ["options", option], message });
    };
    const noUrl = "an internal source has no URL, and nothing to verify";
    if (isInternal({ provider }) && secret !== undefined) refuse("secret", noUrl);
    if (secrets === undefined) return;
    if (isInternal({ provider })) refuse("secrets", noUrl);
    if (secret !== undefined) refuse("secret", "`secrets` is set");
    if (provider.needsSecret === false) refuse("secrets", "it needs no secret");
  });

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

export function hasTenants({ options }: Pick<Source, "options">): boolean {
  return options.secrets !== undefined;
}

export function isInternal({ provider }: { readonly provider: Provider }): boolean {
  return provider.isInternal === true;
}

export function withUrl<S extends { readonly provider: Provider }>(
  sources: Readonly<Record<string, S>>,
): Record<string, S> {
  return Object.fromEntries(Object.entries(sources).filter(([, source]) => !isInternal(source)));
}

/** Rules of a source that the ledger follows when it records an event. */
export interface SourceRules {
  /** False for a source whose equal signed messages may be several events. */
  bodyDedup(this: void, source: string): boolean;
  attemptFields(this: void, source: string): readonly string[];
  readonly find: ReadonlyMap<string, readonly FindPath[]>;
}

export function sourceRules(
  sources: Readonly<Record<string, Pick<Source, "provider" | "options">>>,
): SourceRules {
  return {
    bodyDedup: (source: string) => sources[source]?.options.bodyDedup !== false,
    attemptFields: (source: string) => sources[source]?.provider.attemptFields ?? [],
    find: new Map(Object.entries(sources).map(([name, { options }]) => [name, options.find])),
  };
}

export type Source = z.infer<typeof sourceSchema>;
export type SourcePolicy = z.infer<typeof sourceOptionsSchema>;
