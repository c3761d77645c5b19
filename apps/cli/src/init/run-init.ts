import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { MillraceError } from "@millrace/core";
import type { CliContext } from "../context.ts";
import { STARTERS } from "./starters.ts";
import { DOCKER_FILES, IGNORED, projectFiles, TSCONFIG } from "./templates.ts";

export interface InitOptions {
  /** The project's folder; created if it does not exist. */
  readonly folder: string;
  readonly sources: readonly string[];
  /** Writes a Dockerfile too. */
  readonly docker: boolean;
}

/**
 * Writes a starter config, handler, and migration, and prints the next steps. It never overwrites a
 * file: if one of them exists, it writes nothing.
 *
 * @throws `file_exists`
 */
export async function runInit(context: CliContext, options: InitOptions): Promise<void> {
  const folder = resolve(context.cwd, options.folder);
  const files = { ...projectFiles(options.sources), ...(options.docker ? DOCKER_FILES : {}) };
  const taken = Object.keys(files).filter((path) => existsSync(join(folder, path)));
  if (taken.length > 0) {
    throw new MillraceError(
      "file_exists",
      `Cannot write a project to ${folder}: ${taken.join(", ")} is there. Name an empty folder: \`millrace init <folder>\``,
    );
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // Never overwrites a file, even one that was created in the meantime.
    await writeFile(join(folder, path), text, { flag: "wx" });
    context.stdout.write(`wrote ${path}\n`);
  }
  const tsconfig = join(folder, "tsconfig.json");
  if (existsSync(tsconfig)) {
    context.stdout.write("kept tsconfig.json; it must set allowImportingTsExtensions\n");
  } else {
    await writeFile(tsconfig, TSCONFIG, { flag: "wx" });
    context.stdout.write("wrote tsconfig.json\n");
  }
  if (await ignore(join(folder, ".gitignore"))) context.stdout.write("wrote .gitignore\n");
  context.stdout.write(nextSteps(context, folder, options));
}

/** Adds the lines that are missing from `.gitignore`; false when none is. */
async function ignore(path: string): Promise<boolean> {
  const text = existsSync(path) ? await readFile(path, "utf8") : "";
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim().replace(/\/$/, "")));
  const missing = IGNORED.filter((line) => !lines.has(line.replace(/\/$/, "")));
  if (missing.length === 0) return false;
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  await writeFile(path, `${text}${gap}${missing.join("\n")}\n`);
  return true;
}

function nextSteps({ cwd }: CliContext, folder: string, options: InitOptions): string {
  const {
    sources: [first = ""],
    docker,
  } = options;
  const steps = [
    ...(folder === cwd ? [] : [`cd ${relative(cwd, folder)}`]),
    ...(existsSync(join(folder, "package.json")) ? [] : ["npm init -y"]),
    "npm install millrace drizzle-orm",
    "npm install --save-dev typescript @types/node",
    "npx millrace start",
    `npx millrace send ${first} ${STARTERS[first]?.provider.sampleTypes[0] ?? ""}`,
    ...(docker ? ["docker build -t webhooks ."] : []),
  ];
  return `\nNext:\n\n${steps.map((step) => `  ${step}\n`).join("")}\n`;
}
