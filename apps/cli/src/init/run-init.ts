import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { MillraceError } from "@millrace/core";
import type { CliContext } from "../context.ts";
import { STARTERS } from "./starters.ts";
import { IGNORED, projectFiles } from "./templates.ts";

export interface InitOptions {
  /** The project's folder; it is made where it is not there. */
  readonly folder: string;
  readonly sources: readonly string[];
}

/**
 * Writes a config, a handler and a migration to start from, and says what to do next. A file that is
 * there is never written over: then nothing is written at all.
 *
 * @throws `file_exists`
 */
export async function runInit(context: CliContext, options: InitOptions): Promise<void> {
  const folder = resolve(context.cwd, options.folder);
  const files = projectFiles(options.sources);
  const taken = Object.keys(files).filter((path) => existsSync(join(folder, path)));
  if (taken.length > 0) {
    throw new MillraceError(
      "file_exists",
      `Cannot write a project to ${folder}: ${taken.join(", ")} is there. Name an empty folder: \`millrace init <folder>\``,
    );
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // Not even a file that came up since is written over.
    await writeFile(join(folder, path), text, { flag: "wx" });
    context.stdout.write(`wrote ${path}\n`);
  }
  if (await ignore(join(folder, ".gitignore"))) context.stdout.write("wrote .gitignore\n");
  context.stdout.write(nextSteps(context, folder, options.sources));
}

/** Adds what must stay out of a repository; false when it is all there. */
async function ignore(path: string): Promise<boolean> {
  const text = existsSync(path) ? await readFile(path, "utf8") : "";
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim().replace(/\/$/, "")));
  const missing = IGNORED.filter((line) => !lines.has(line.replace(/\/$/, "")));
  if (missing.length === 0) return false;
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  await writeFile(path, `${text}${gap}${missing.join("\n")}\n`);
  return true;
}

function nextSteps({ cwd }: CliContext, folder: string, [first = ""]: readonly string[]): string {
  const steps = [
    ...(folder === cwd ? [] : [`cd ${relative(cwd, folder)}`]),
    ...(existsSync(join(folder, "package.json")) ? [] : ["npm init -y"]),
    "npm install millrace drizzle-orm",
    "npx millrace start",
    `npx millrace send ${first} ${STARTERS[first]?.provider.sampleTypes[0] ?? ""}`,
  ];
  return `\nNext:\n\n${steps.map((step) => `  ${step}\n`).join("")}\n`;
}
