import { z } from "zod";
import {
  COMMAND_PARAMETER,
  commandWords,
  postgresProblem,
  readUrl,
  redisProblem,
  withParameter,
} from "./connection-urls.ts";
import { plainWords, problems } from "./define-config.ts";
import { MillraceError } from "./errors.ts";
import { isQueueKey } from "./queue-keys.ts";

const port = (fallback: number) =>
  z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
      message: "must be a whole number, 0 to 65535",
    })
    .transform(Number)
    .default(fallback);

const url = (problemOf: (text: string) => string | undefined, ...beginnings: string[]) =>
  z
    .string()
    .refine((text) => beginnings.some((beginning) => text.startsWith(beginning)), {
      message: `must begin with ${beginnings.join(" or ")}`,
      abort: true,
    })
    .superRefine((text, context) => {
      const message = problemOf(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .optional();

const postgresUrl = url(postgresProblem, "postgres://", "postgresql://");

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

const address = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Hops, or addresses and networks. Trust of everybody would believe a stranger's header. */
const isTrust = (text: string): boolean =>
  /^(?:\d|10)$/.test(text) ||
  text.split(",").every((part) => address.safeParse(part.trim()).success && !/\/0+\s*$/.test(part));

const namedTokens = z
  .string()
  .refine(
    (text) => text.split(",").every((part) => /^\s*([a-z0-9][a-z0-9._-]{0,63}:.+)?$/.test(part)),
    {
      message:
        "must be name:token, comma-separated; a name has small letters, digits, and . _ - , at most 64",
    },
  )
  .optional();

/** The environment that a process reads in its `main.ts`, and nowhere else. */
export const environmentSchema = z.object({
  MILLRACE_CONFIG: z.string().optional(),
  DATABASE_URL: postgresUrl,
  /** The same database, past a pooler that shares the connections of `DATABASE_URL`. */
  DATABASE_SESSION_URL: postgresUrl,
  /** The same database by a login that may drop old bodies and delete old events. */
  RETENTION_DATABASE_URL: postgresUrl,
  /** Prints the password of each of these URLs that has none; it is run again each five minutes. */
  DATABASE_PASSWORD_COMMAND: z
    .string()
    .refine((text) => commandWords(text) !== undefined, {
      message: 'runs without a shell: with quotes or pipes, write a JSON list ["program", "word"]',
    })
    .optional(),
  REDIS_URL: url(
    redisProblem,
    ...["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://", "unix:///", "/"],
  ),
  /** The certificate of the CA that signed Redis' own, in PEM, for `rediss://`. */
  REDIS_CA_FILE: z.string().optional(),
  /** Keys that sign jobs on Redis, comma-separated for rotation: the first signs. */
  MILLRACE_QUEUE_KEY: z
    .string()
    .refine(isQueueKey, {
      message: "each key must be 32 bytes as hex or base64, such as `openssl rand -hex 32` prints",
    })
    .optional(),
  /** Begins the names of the queues' keys on Redis, the same for every role of a ledger. */
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, "must be 1 to 40 letters, digits, underscores, and hyphens")
    .default("bull"),
  INGRESS_PORT: port(3000),
  DASHBOARD_PORT: port(3001),
  WORKER_PORT: port(3002),
  DASHBOARD_USER: z.string().optional(),
  DASHBOARD_PASSWORD: z.string().optional(),
  DASHBOARD_VIEWER_USER: z.string().optional(),
  DASHBOARD_VIEWER_PASSWORD: z.string().optional(),
  /** The tokens of programs, comma-separated for rotation; the viewer's is Prometheus'. */
  DASHBOARD_TOKEN: z.string().optional(),
  DASHBOARD_VIEWER_TOKEN: z.string().optional(),
  DASHBOARD_TOKENS: namedTokens,
  DASHBOARD_VIEWER_TOKENS: namedTokens,
  /** Further names that the dashboard is reached by, comma-separated: `dash.example.com`. */
  DASHBOARD_HOSTS: z.string().optional(),
  /** The dashboard's address for people, for the links of alerts. */
  DASHBOARD_URL: url(() => undefined, "https://", "http://"),
  /** Proxies, or their addresses, that are believed about `X-Forwarded-For`. Default: none. */
  TRUST_PROXY: z
    .string()
    .refine(isTrust, {
      message:
        "must be a number of proxies, 0 to 10, or their addresses or networks, comma-separated",
    })
    .optional(),
  HOST: z.string().optional(),
  MILLRACE_DATA_DIR: z.string().default(".millrace"),
  /** `1` starts on a Redis without AOF all the same. */
  MILLRACE_REDIS_VOLATILE: z.enum(["0", "1"]).default("0"),
  /** `off` records every attempt first, and gives it a transaction of its own. */
  MILLRACE_GROUPS: z.enum(["on", "off"]).default("on"),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

export type Environment = z.infer<typeof environmentSchema>;

const variablesSchema = environmentSchema
  .refine(
    ({ REDIS_URL, REDIS_CA_FILE }) =>
      REDIS_CA_FILE === undefined || /^rediss(\+sentinel)?:/.test(REDIS_URL ?? ""),
    {
      path: ["REDIS_CA_FILE"],
      message: "needs a REDIS_URL that begins with rediss:// or rediss+sentinel://",
    },
  )
  .refine(
    ({ DATABASE_PASSWORD_COMMAND, ...urls }) =>
      DATABASE_PASSWORD_COMMAND === undefined ||
      DATABASES.some((name) => needsPassword(urls[name])),
    {
      path: ["DATABASE_PASSWORD_COMMAND"],
      message: "needs a DATABASE_URL without a password",
    },
  )
  // All who open a URL find the CA's file and the command in it.
  .transform((given) => {
    const { REDIS_URL, REDIS_CA_FILE: file, DATABASE_PASSWORD_COMMAND: command } = given;
    const urls: Partial<Environment> = {};
    if (REDIS_URL && file) urls.REDIS_URL = withParameter(REDIS_URL, "sslrootcert", file);
    for (const name of DATABASES) {
      const text = given[name];
      const isAsked = text?.includes(`${COMMAND_PARAMETER}=`) === false && needsPassword(text);
      if (command && isAsked) urls[name] = withParameter(text, COMMAND_PARAMETER, command);
    }
    return { ...given, ...urls };
  });

const DATABASES = ["DATABASE_URL", "DATABASE_SESSION_URL", "RETENTION_DATABASE_URL"] as const;

function needsPassword(text: string | undefined): boolean {
  const read = text === undefined ? undefined : readUrl(text);
  return read?.password === "" && !read.searchParams.has("password");
}

const QUOTED = /^(?:"([^"]*)"|'([^']*)')$/;

/** The value within a pair of quotes, which `docker run --env-file` passes on, with a warning. */
export function withoutQuotes(name: string, value: string): string {
  const [, double, single] = QUOTED.exec(value) ?? [];
  const bare = double ?? single;
  if (bare === undefined) return value;
  process.emitWarning(`${name} is in quotes, which are left out`, { type: "MillraceWarning" });
  return bare;
}

/** An empty variable counts as unset. @throws `invalid_config` with every problem */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Environment {
  const known = ["PORT", ...Object.keys(environmentSchema.shape)];
  const given = known.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, withoutQuotes(name, value)] as const];
  });
  const { PORT, ...own } = Object.fromEntries(given);
  // Many hosts give it: the port of the role that runs, unless that has its own.
  const ports = { INGRESS_PORT: PORT, WORKER_PORT: PORT, DASHBOARD_PORT: PORT };
  const set = PORT === undefined ? own : { ...ports, ...own };
  const parsed = variablesSchema.safeParse(set, { error: plainWords });
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
