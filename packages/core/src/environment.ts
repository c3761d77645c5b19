import { z } from "zod";
import { problems } from "./define-config.ts";
import { MillraceError } from "./errors.ts";
import { plainWords } from "./plain-words.ts";

const port = (fallback: number) =>
  z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
      message: "must be a whole number, 0 to 65535",
    })
    .transform(Number)
    .default(fallback);

const url = (...protocols: string[]) =>
  z
    .string()
    .refine((text) => protocols.some((protocol) => text.startsWith(`${protocol}://`)), {
      message: `must begin with ${protocols.map((protocol) => `${protocol}://`).join(" or ")}`,
      abort: true,
    })
    // A "#" ends the host, so what stands behind it would be left out without a word.
    .refine((text) => URL.canParse(text) && new URL(text).hash === "", {
      message:
        "must be a URL with a port of at most 65535; in its password write # as %23, / as %2F, @ as %40",
    })
    .optional();

/** The environment that a process reads in its `main.ts`, and nowhere else. */
export const environmentSchema = z.object({
  MILLRACE_CONFIG: z.string().optional(),
  DATABASE_URL: url("postgres", "postgresql"),
  REDIS_URL: url("redis", "rediss"),
  INGRESS_PORT: port(3000),
  DASHBOARD_PORT: port(3001),
  WORKER_PORT: port(3002),
  DASHBOARD_USER: z.string().optional(),
  DASHBOARD_PASSWORD: z.string().optional(),
  /** A user who may look and change nothing. */
  DASHBOARD_VIEWER_USER: z.string().optional(),
  DASHBOARD_VIEWER_PASSWORD: z.string().optional(),
  /** What programs sign in with, comma-separated for rotation; the viewer's is Prometheus'. */
  DASHBOARD_TOKEN: z.string().optional(),
  DASHBOARD_VIEWER_TOKEN: z.string().optional(),
  /** Further names that the dashboard is reached by, comma-separated: `dash.example.com`. */
  DASHBOARD_HOSTS: z.string().optional(),
  HOST: z.string().optional(),
  MILLRACE_DATA_DIR: z.string().default(".millrace"),
  /** `1` starts on a Redis without AOF all the same. */
  MILLRACE_REDIS_VOLATILE: z.enum(["0", "1"]).default("0"),
  /** `off` records every attempt first, and gives it a transaction of its own. */
  MILLRACE_GROUPS: z.enum(["on", "off"]).default("on"),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

export type Environment = z.infer<typeof environmentSchema>;

/**
 * Reads the environment; an empty variable counts as unset.
 *
 * @throws `invalid_config` with every problem, one a line.
 */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Environment {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = environmentSchema.safeParse(set, { error: plainWords });
  if (parsed.success) return parsed.data;
  throw new MillraceError(
    "invalid_config",
    `Cannot use the environment:\n${problems(parsed.error)}`,
  );
}

/** The environment variable of a source's secret: `hook-mesh` is `HOOK_MESH_WEBHOOK_SECRET`. */
export function secretVariable(source: string): string {
  return `${source.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`;
}
