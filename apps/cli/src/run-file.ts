import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writePrivateFile } from "./write-private-file.ts";

const processSchema = z.object({ name: z.string(), pid: z.number(), port: z.number() });

const runSchema = z.object({
  /** The pid of `millrace start` itself. */
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

/** A running `millrace start`, for the other commands: `<data folder>/run.json`. */
export type Run = z.infer<typeof runSchema>;

/** Writes `run.json`, for its owner's eyes alone: it holds the database's URL. */
export async function writeRun(dataDir: string, run: Run): Promise<void> {
  await writePrivateFile(join(dataDir, "run.json"), `${JSON.stringify(run, null, 2)}\n`);
}

/** The run of a data folder; undefined when none was left there, or its process is gone. */
export async function readRun(dataDir: string): Promise<Run | undefined> {
  let text: string;
  try {
    text = await readFile(join(dataDir, "run.json"), "utf8");
  } catch {
    return undefined;
  }
  const run = runSchema.safeParse(parse(text));
  return run.success && isAlive(run.data.pid) ? run.data : undefined;
}

/** Removes `run.json`, as a clean stop does. */
export async function removeRun(dataDir: string): Promise<void> {
  await rm(join(dataDir, "run.json"), { force: true });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True while a process of this pid lives, also another user's. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
