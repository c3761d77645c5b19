import { chown, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "@millrace/core";
import type { Binaries } from "./find-binaries.ts";
import { runTool, dataArgument, type ServerUser } from "./server-user.ts";

export const ROLE = "millrace";

const LOCALE = [
  "--encoding=UTF8",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
];

export async function isInitialised(pgdata: string): Promise<boolean> {
  const found = await stat(join(pgdata, "PG_VERSION")).catch(() => undefined);
  return found !== undefined;
}

/** Data gets its name when it is whole. @throws `postgres_not_started` with initdb's output */
export async function initialiseData(options: {
  binaries: Binaries;
  pgdata: string;
  user: ServerUser | undefined;
  password: string;
}): Promise<void> {
  const { binaries, pgdata, user, password } = options;
  const unfinished = `${pgdata}.new`;
  const passwordFile = `${pgdata}.password`;
  await rm(unfinished, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await own(unfinished, user);
  const file = await open(passwordFile, "wx+", 0o600);
  try {
    await own(passwordFile, user);
    await file.write(`${password}\n`, 0);
    const args = [
      ...["-D", dataArgument(unfinished, user), `--username=${ROLE}`, ...LOCALE],
      ...["--auth=scram-sha-256", "--pwfile=/dev/stdin"],
    ];
    const result = await runTool(binaries.initdb, args, { cwd: unfinished, user, stdin: file.fd });
    if (result.code !== 0) {
      throw new MillraceError(
        "postgres_not_started",
        `Cannot initialise Postgres in ${JSON.stringify(pgdata)}: initdb ended with ` +
          `${result.code}. ${result.output.trim()}`,
      );
    }
    await rename(unfinished, pgdata);
  } finally {
    await file.close();
    await rm(passwordFile, { force: true });
  }
}

async function own(path: string, user: ServerUser | undefined): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid);
}
