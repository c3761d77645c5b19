import { stat } from "node:fs/promises";

const NOBODY = 65_534;

/** The user whom Postgres runs as, where it cannot be the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root. Under root it runs as the owner of its data, and as uid 65534
 * where there is none yet; else it runs as ourselves and this is undefined.
 */
export async function serverUser(pgdata: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(pgdata).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return { uid: NOBODY, gid: NOBODY };
}

/**
 * How the server names its data folder, which is also its working directory.
 *
 * The other user may not be able to walk to it (a clone under /root, 0700), but a process can
 * always go through its own working directory, and that is set before the user is changed.
 */
export function dataArgument(pgdata: string, user: ServerUser | undefined): string {
  return user !== undefined && process.platform === "linux" ? "/proc/self/cwd" : pgdata;
}

/** Nothing of our own environment reaches Postgres: neither its locale nor PG* variables. */
export const SERVER_ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const;
