import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { CliContext } from "./context.ts";
import { runCli } from "./program.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const pages = ["docs", "docs/providers", "."].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`)
    .filter((name) => name.endsWith(".md") && name !== "CHANGELOG.md")
    .map((name) => `${folder}/${name}`),
);

test("each command of the pages exists, with its options", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const line of commandsOf(readFileSync(`${ROOT}/${page}`, "utf8"))) {
      const [name = "", ...words] = line.split(/\s+/);
      const help = await helpOf(name);
      const options = words.filter((word) => word.startsWith("--")).map(withoutValue);
      const unknown = options.filter((option) => !new RegExp(`${option}\\b`).test(help));
      if (help === "" || unknown.length > 0) wrong.push(`${page}: millrace ${line}`);
      count += 1;
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

/** Of its blocks for a shell, and of its code within a line. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
  const lines = blocks.flatMap((block) => block.replaceAll(/ # .*$/gm, "").split("\n"));
  const inline = [...page.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`]+)`/g)];
  return [...lines, ...inline.map(([, code = ""]) => code)].flatMap((code) => {
    const [, command] = /^(?:npx )?millrace ([a-z-]+(?:\s[^]*)?)$/.exec(code.trim()) ?? [];
    return command === undefined || command.startsWith("-") ? [] : [command];
  });
}

const withoutValue = (option: string) => option.replace(/[=.,:].*$/, "");

const known = new Map<string, Promise<string>>();
function helpOf(name: string): Promise<string> {
  const found = known.get(name) ?? readHelp(name);
  known.set(name, found);
  return found;
}

/** Empty for a command that does not exist. */
async function readHelp(name: string): Promise<string> {
  let text = "";
  const output = { write: (data: string | Uint8Array) => (text += String(data)), columns: 100 };
  const context = { env: {}, cwd: ROOT, stdout: output, stderr: output };
  const failure = await runCli([name, "--help"], context as unknown as CliContext);
  return failure === undefined ? text : "";
}
