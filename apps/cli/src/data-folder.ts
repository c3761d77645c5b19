import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  isQueueKey,
  makeQueueKey,
  MillraceError,
  secretVariable,
  withUrl,
  type Config,
} from "@millrace/core";
import { answersSignal, hasErrno, writePrivateFile } from "@millrace/embedded-postgres";
import { resolveSecrets } from "@millrace/service";
import { z } from "zod";
import type { Settings } from "./context.ts";

// `millrace start` keeps `run.json`, `secrets.json`, and `queue-key` for other commands, as 0600.

const processSchema = z.object({ name: z.string(), pid: z.number(), port: z.number() });

const runSchema = z.object({
  pid: z.int().positive(),
  started_at: z.string(),
  config: z.string(),
  ingress_url: z.string(),
  dashboard_url: z.string(),
  database_url: z.string(),
  /** Absent where the queue is on Postgres. */
  redis_url: z.string().optional(),
  processes: z.array(processSchema),
});

export type Run = z.infer<typeof runSchema>;

export const writeRun = (dataDir: string, run: Run): Promise<void> =>
  writePrivateFile(join(dataDir, "run.json"), `${JSON.stringify(run, null, 2)}\n`);

/** The run of a data folder; undefined when there is no run, or its process is gone. */
export async function readRun(dataDir: string): Promise<Run | undefined> {
  try {
    const run = runSchema.parse(JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")));
    return answersSignal(run.pid) ? run : undefined;
  } catch {
    return undefined;
  }
}

export const removeRun = (dataDir: string): Promise<void> =>
  rm(join(dataDir, "run.json"), { force: true });

const secretsSchema = z.record(z.string(), z.string().min(1));

/** The secrets that `millrace start` made, by source; empty when it never ran here. */
export async function readDevelopmentSecrets(dataDir: string): Promise<Record<string, string>> {
  const path = join(dataDir, "secrets.json");
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (hasErrno(error, "ENOENT")) return "{}";
    throw error;
  });
  try {
    return secretsSchema.parse(JSON.parse(text));
  } catch {
    throw new MillraceError(
      "invalid_config",
      `Cannot read the development secrets: ${path} is not a JSON object of strings. Remove it to create new ones`,
    );
  }
}

/**
 * Secrets for the sources that have none, as the environment variables that the ingress reads. They
 * are made once and kept, so that a delivery signed yesterday still verifies.
 */
export async function secretVariables(
  config: Config,
  { env, dataDir }: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
): Promise<Record<string, string>> {
  const own = resolveSecrets(config, env);
  const secrets = await readDevelopmentSecrets(dataDir);
  const wanted = Object.entries(withUrl(config.sources)).filter(
    ([name]) => !Object.hasOwn(own, name),
  );
  const missing = wanted.filter(([name]) => !Object.hasOwn(secrets, name));
  for (const [name, { provider }] of missing) secrets[name] = provider.generateSecret();
  if (missing.length > 0) {
    const text = `${JSON.stringify(secrets, null, 2)}\n`;
    await writePrivateFile(join(dataDir, "secrets.json"), text);
  }
  return Object.fromEntries(wanted.map(([name]) => [secretVariable(name), secrets[name] ?? ""]));
}

export async function readQueueKey(dataDir: string): Promise<string | undefined> {
  const path = join(dataDir, "queue-key");
  const key = (await readFile(path, "utf8").catch(() => undefined))?.trim();
  if (key === undefined || isQueueKey(key)) return key;
  throw new MillraceError(
    "invalid_config",
    `Cannot read the key of jobs: ${path} has no key. Remove it to create a new one`,
  );
}

export async function ensureQueueKey({ environment, dataDir }: Settings): Promise<string> {
  const known = environment.MILLRACE_QUEUE_KEY ?? (await readQueueKey(dataDir));
  if (known !== undefined) return known;
  const created = makeQueueKey();
  await writePrivateFile(join(dataDir, "queue-key"), `${created}\n`);
  return created;
}
