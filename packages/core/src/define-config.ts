import { z } from "zod";
import { ALERTS_SOURCE } from "./alerts.ts";
import { configSchema, type Config } from "./config-schema.ts";
import { MillraceError } from "./errors.ts";
import type { TableSchema } from "./handler.ts";
import { unknownKey } from "./nearest.ts";
import { INTERNAL_PROVIDER } from "./provider.ts";
import type { ConfigInput } from "./settings.ts";
import type { SourceDefinition } from "./source-settings.ts";

/** Types a config file, for `defineHandlers` too; it is checked by the process that loads it. */
export function defineConfig<
  Sources extends Record<string, SourceDefinition>,
  Tables extends TableSchema = TableSchema,
>(config: ConfigInput<Sources, Tables>): ConfigInput<Sources, Tables> {
  return config;
}

/**
 * @param others - problems that the caller has found, as lines
 * @throws `invalid_config` with every problem and its path, one a line
 */
export function parseConfig(input: unknown, others: readonly string[] = []): Config {
  const found = [...others, ...alertProblems(Object(input))];
  const parsed = configSchema.safeParse(complete(input), { error: plainWords });
  if (parsed.success && found.length === 0) return parsed.data;
  const lines = parsed.error === undefined ? found : [problems(parsed.error), ...found];
  throw new MillraceError("invalid_config", `Cannot use the config:\n${lines.join("\n")}`);
}

/** Adds the source of alerts, and to senders that sign the URL that they call the one they have. */
function complete(input: unknown): unknown {
  const { publicUrl, alerts, sources }: Partial<ConfigInput> = Object(input);
  if (!(sources instanceof Object) || (publicUrl === undefined && !alerts?.length)) return input;
  const own = alerts?.length ? { [ALERTS_SOURCE]: { provider: INTERNAL_PROVIDER } } : {};
  const entries = Object.entries(sources).map(([name, source]) => {
    const url = typeof publicUrl === "string" ? `${publicUrl}/webhooks/${name}` : undefined;
    const provider = url === undefined ? undefined : source?.provider?.at?.(url);
    return [name, provider === undefined ? source : { ...source, provider }];
  });
  return { ...Object(input), sources: { ...own, ...Object.fromEntries(entries) } };
}

function alertProblems({ alerts, sources }: Partial<ConfigInput>): string[] {
  const taken: SourceDefinition | undefined = Object(sources)[ALERTS_SOURCE];
  if (!alerts?.length || taken === undefined || taken.provider?.isInternal === true) return [];
  return [`  sources.${ALERTS_SOURCE}: is the source of alerts; give yours another name`];
}

export function problems(error: z.ZodError): string {
  return error.issues
    .map((issue) => `  ${issue.path.join(".") || "(top level)"}: ${issue.message}`)
    .join("\n");
}

const keysOf = (schema: unknown): readonly string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];

const NOUNS: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a string",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Words for people who write a config, instead of zod's; a schema's own message wins. */
export const plainWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case "too_small":
      return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `has no option ${issue.keys.map((key) => unknownKey(key, keysOf(issue.inst))).join(", ")}`;
    case "invalid_key":
      return issue.issues.map(({ message }) => `its name ${message}`).join(", ");
    default:
      return undefined;
  }
};
