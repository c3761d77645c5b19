import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../../scripts/run-command.mjs";
import { blocksOf } from "./blocks.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PAGES = ["docs/performance.md", "README.md"];

/** Writes the figures in files of `--json` into the pages. */
export async function writePages(files) {
  const blocks = blocksOf(merge(files.map(read)));
  for (const page of PAGES) {
    const path = join(ROOT, page);
    writeFileSync(path, fillBlocks(readFileSync(path, "utf8"), blocks));
    console.log(page);
  }
  const prettier = join(ROOT, "node_modules", ".bin", "prettier");
  await runCommand(prettier, ["--write", "--log-level=warn", ...PAGES], { cwd: ROOT });
}

function read(file) {
  let measured;
  try {
    measured = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    refuse(`Cannot read ${file}: ${error.message}`);
  }
  if (measured.results === undefined) refuse(`Cannot read ${file}: it was not written by --json`);
  return measured;
}

function refuse(mistake) {
  console.error(mistake);
  process.exit(2);
}

function merge(list) {
  return { ...list.at(-1), results: Object.assign({}, ...list.map(({ results }) => results)) };
}

export function fillBlocks(page, blocks) {
  return page.replaceAll(
    /(<!-- measured: ([^>]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole, begin, name, end) =>
      blocks[name] === undefined || blocks[name] === ""
        ? whole
        : `${begin}\n${blocks[name]}\n\n${end}`,
  );
}
