import type { z } from "zod";
import { configSchema, type Config } from "./config-schema.ts";
import { MillraceError } from "./errors.ts";
import type { TableSchema } from "./handler.ts";
import { plainWords } from "./plain-words.ts";
import type { ConfigInput, SourceDefinition } from "./settings.ts";

/** Types a config file, for `defineHandlers` too; it is checked by the process that loads it. */
export function defineConfig<
  Sources extends Record<string, SourceDefinition>,
  Tables extends TableSchema = TableSchema,
>(config: ConfigInput<Sources, Tables>): ConfigInput<Sources, Tables> {
  return config;
}

/**
 * Checks a config and fills in its defaults.
 *
 * @throws `invalid_config` with every problem and its path, one a line.
 */
export function parseConfig(input: unknown): Config {
  const parsed = configSchema.safeParse(input, { error: plainWords });
  if (parsed.success) return parsed.data;
  throw new MillraceError("invalid_config", `Cannot use the config:\n${problems(parsed.error)}`);
}

/** Every problem of a zod error, `path: message`, one a line. */
export function problems(error: z.ZodError): string {
  return error.issues
    .map((issue) => `  ${issue.path.join(".") || "(top level)"}: ${issue.message}`)
    .join("\n");
}
