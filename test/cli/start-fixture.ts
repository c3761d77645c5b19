import { expect } from "vitest";
import { isAlive } from "../support/millrace-process.ts";
import { newFolder } from "../support/new-folder.ts";
import { queryOnce } from "../support/query-once.ts";
import { millrace } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";
import { PIPELINE, startMillrace, statusOf, type Run, type StartProcess } from "./start-process.ts";

export function useStarts() {
  const dataDir = newFolder();
  let last: StartProcess | undefined;

  const command = (...args: string[]) =>
    millrace(args, { env: { MILLRACE_CONFIG: PIPELINE, MILLRACE_DATA_DIR: dataDir } });
  return {
    dataDir: () => dataDir,
    command,
    start(env: Record<string, string> = {}, args: string[] = []): StartProcess {
      last = startMillrace(dataDir, { MILLRACE_CONFIG: PIPELINE, ...env }, args);
      return last;
    },
    async stopLast(): Promise<void> {
      last?.signal("SIGTERM");
      await last?.ended;
      last = undefined;
    },
    async completed(running: StartProcess, id: string): Promise<void> {
      const { database_url: url } = await running.run();
      await until(async () => (await statusOf(url, id)) === "completed", {
        what: `${id} completed`,
      });
      const { stdout } = await command("events", "--q", id, "--status", "completed", "--json");
      expect(stdout).toContain(id);
    },
  };
}

export async function pidsOf(run: Run): Promise<number[]> {
  const [row] = await queryOnce<{ pid: number }>(
    // As the superuser, whose password is the same.
    run.database_url.replace("millrace_app", "millrace"),
    String.raw`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`,
  );
  return [...run.processes.map(({ pid }) => pid), row?.pid ?? 0];
}

export async function expectGoodEnd(
  running: StartProcess,
  signal: NodeJS.Signals,
  from: number,
): Promise<void> {
  const pids = await pidsOf(await running.run());
  running.signal(signal);
  expect(await running.ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  await expect(running.run()).rejects.toThrow("ENOENT");
  expect(running.output().slice(from)).not.toContain('"level":"error"');
}
