import { randomBytes } from "node:crypto";

/**
 * The name of a pool's connections in pg_stat_activity: `millrace-worker/28-9f3ac1`. It says how many the pool may take,
 * and distinguishes one process from another, so that anyone who looks can add up what all of them may take.
 */
export function poolName(name: string, connectionsMax: number): string {
  return `${name}/${connectionsMax}-${randomBytes(3).toString("hex")}`;
}

/** What a pool's name says; undefined for other names, and for pools of builds that did not say it. */
export function readPoolName(text: string): { name: string; connectionsMax: number } | undefined {
  const [, name, max] = /^(millrace-[a-z-]+)\/(\d+)-[0-9a-f]{6}$/.exec(text) ?? [];
  if (name === undefined || max === undefined) return undefined;
  return { name, connectionsMax: Number(max) };
}
