import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { MillraceError } from "@millrace/core";
import { BINARIES_PACKAGE } from "@millrace/embedded-postgres";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../context.ts";
import { IGNORED, projectFiles, STARTERS, TSCONFIG } from "../init/templates.ts";
import { createPrinter, writeList } from "../terminal-text.ts";

const INIT_HELP = `
Writes millrace.config.ts, handlers.ts, a first migration, .env.example, and .oxlintrc.json, which
finds a query that is not awaited; adds secrets and data to .gitignore. Overwrites no file.

\`millrace providers\` lists the senders.

Examples:
  $ millrace init
  $ millrace init my-webhooks --source stripe,github`;

const PROVIDERS_HELP = `
Of a sender that is authenticated only, a token or some fields are checked: nothing covers the rest.

Examples:
  $ millrace providers
  $ millrace providers --json`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("init")
    .description("create a starter config and handler")
    .argument("[folder]", "where to write them", ".")
    .addOption(
      new Option("--source <senders>", "one or more senders, separated by commas")
        .argParser(senders)
        .default(["stripe"], "stripe"),
    )
    .option("--json", "print the files and the next steps as JSON")
    .addHelpText("after", INIT_HELP)
    .action((folder: string, options: InitOptions) =>
      runInit(context, resolve(context.cwd, folder), options),
    );
  program
    .command("providers")
    .description("list the senders that have a provider")
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", PROVIDERS_HELP)
    .action(({ json }: { readonly json?: true }) => {
      const lines = Object.values(STARTERS).map(({ factory, provider }) => ({
        name: provider.name,
        function: `${factory}()`,
        verified: provider.authenticatedOnly !== true,
        id_is_signed: provider.idIsSigned,
      }));
      writeList(context, lines, {
        json,
        none: "",
        heads: ["SENDER", "IN THE CONFIG", "DELIVERIES", "ID"],
        rowOf: (line) => [
          ...[line.name, line.function, line.verified ? "verified" : "authenticated only"],
          line.id_is_signed ? "signed" : "unsigned",
        ],
      });
    });
}

function senders(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const stranger = names.find((name) => !Object.hasOwn(STARTERS, name));
  if (stranger === undefined) return names;
  throw new InvalidArgumentError(
    `"${stranger}" is not known. \`millrace providers\` lists the senders. For any other HMAC-signed sender, use \`hmac()\` in the config.`,
  );
}

interface InitOptions {
  readonly source: readonly string[];
  readonly json?: true;
}

/** @throws `file_exists`: then nothing is written. */
async function runInit(
  context: CliContext,
  folder: string,
  { source: sources, json }: InitOptions,
): Promise<void> {
  const print = createPrinter(context, json);
  const written: string[] = [];
  const tell = (path: string) => {
    written.push(path);
    print({ text: `wrote ${path}` });
  };
  const files = projectFiles(sources);
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
    tell(path);
  }
  const tsconfig = join(folder, "tsconfig.json");
  if (existsSync(tsconfig)) {
    print({ text: "kept tsconfig.json; it must set allowImportingTsExtensions" });
  } else {
    await writeFile(tsconfig, TSCONFIG, { flag: "wx" });
    tell("tsconfig.json");
  }
  if (await ignore(join(folder, ".gitignore"))) tell(".gitignore");
  const steps = nextSteps(context, folder, sources);
  const text = `\nNext:\n\n${steps.map((step) => `  ${step}\n`).join("")}`;
  print({ json: { folder, wrote: written, next: steps }, text });
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

function nextSteps({ cwd }: CliContext, folder: string, [first = ""]: readonly string[]): string[] {
  return [
    ...(folder === cwd ? [] : [`cd ${relative(cwd, folder)}`]),
    ...(existsSync(join(folder, "package.json")) ? [] : ["npm init -y"]),
    // It is not in the registry yet: `npm run pack` in a clone writes the file.
    "npm install <path to millrace-0.1.0.tgz> drizzle-orm",
    `npm install --save-dev typescript @types/node oxlint oxlint-tsgolint ${BINARIES_PACKAGE}`,
    "npx millrace start",
    `npx millrace send ${first} ${STARTERS[first]?.provider.sampleTypes[0] ?? ""}`,
  ];
}
