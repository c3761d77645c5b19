import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENVELOPE_VERSION } from "@millrace/core";
import type { Build } from "../environment/environment.ts";
import { createScratch } from "../mutants/scratch.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const MIGRATIONS = join("packages", "ledger", "migrations");

/** A build of the next version, in a folder of its own. */
export interface NewerBuild extends Build {
  /** The version of the job data that it writes. */
  readonly envelopeVersion: number;
  remove(): Promise<void>;
}

/** Copies this build, and makes of it one that writes the next envelope, reads both, and has a migration more. */
export async function createNewerBuild(): Promise<NewerBuild> {
  const scratch = await createScratch(REPOSITORY);
  const { root } = scratch;
  const envelopeVersion = ENVELOPE_VERSION + 1;
  try {
    await scratch.apply([
      {
        file: join("packages", "core", "dist", "event.js"),
        from: `export const ENVELOPE_VERSION = ${ENVELOPE_VERSION};`,
        to: `export const ENVELOPE_VERSION = ${envelopeVersion};`,
      },
      {
        file: join("packages", "core", "dist", "event.js"),
        from: "v: z.literal(ENVELOPE_VERSION),",
        to: `v: z.union([z.literal(${ENVELOPE_VERSION}), z.literal(ENVELOPE_VERSION)]),`,
      },
    ]);
    await writeFile(
      join(root, MIGRATIONS, `${await nextNumber(join(root, MIGRATIONS))}_newer.sql`),
      "ALTER TABLE millrace.events ADD COLUMN newer text;\n",
    );
  } catch (error) {
    await scratch.remove();
    throw error;
  }
  return {
    bin: join(root, "apps", "cli", "bin", "millrace.mjs"),
    config: join(root, "test", "fixtures", "faults", "millrace.config.ts"),
    envelopeVersion,
    remove: scratch.remove,
  };
}

async function nextNumber(folder: string): Promise<string> {
  const numbers = (await readdir(folder)).map((name) => Number.parseInt(name, 10) || 0);
  return String(Math.max(...numbers) + 1).padStart(4, "0");
}
