// Tries `npm start` and `npm test` on fresh clones of HEAD, in the circumstances that newcomers
// have: node scripts/try-fresh-clone.mjs [--only <case>]... [--all] [--keep]
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions } from "./read-options.mjs";
import { CASES } from "./try/cases.mjs";
import { describe, makeClone, removeClone } from "./try/clone.mjs";

const HELP = `Usage: node scripts/try-fresh-clone.mjs [options]

Tries \`npm start\` and \`npm test\` on fresh clones of HEAD, as newcomers would find them.

Options:
  --only <case>  only this case; may be given several times
  --all          the slow cases too
  --keep         leave the clones where they are
  -h, --help     this text

Cases:
${Object.entries(CASES)
  .map(([name, { what, slow }]) => `  ${name.padEnd(22)} ${what}${slow ? " (slow)" : ""}`)
  .join("\n")}`;

const values = readOptions(
  {
    only: { type: "string", multiple: true },
    all: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
  },
  HELP,
);
if (process.platform !== "linux") {
  console.error("Cannot try fresh clones: this reads /proc, and so runs on Linux only");
  process.exit(1);
}
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isRoot = process.getuid() === 0;
const names = values.only ?? Object.keys(CASES).filter((name) => values.all || !CASES[name].slow);
const unknown = names.filter((name) => CASES[name] === undefined);
if (unknown.length > 0) {
  console.error(`No such case: ${unknown.join(", ")}. There are ${Object.keys(CASES).join(", ")}`);
  process.exit(1);
}

const results = [];
for (const name of names) {
  const result = await tryCase(CASES[name]);
  results.push({ case: name, ...result, what: CASES[name].what });
  console.log(`${result.result.padEnd(7)} ${name} (${result.seconds} s): ${CASES[name].what}`);
}
console.table(results);
const bad = results.filter(({ result }) => result !== "ok").length;
console.log(bad === 0 ? "All fresh clones work" : `${bad} of ${results.length} did not work`);
process.exit(bad === 0 ? 0 : 1);

async function tryCase(testCase) {
  if (testCase.user === "nobody" && !isRoot) return { result: "NOT RUN (needs root)", seconds: 0 };
  const started = Date.now();
  const clone = makeClone(root, testCase);
  let result = "ok";
  try {
    await testCase.run(clone);
  } catch (error) {
    result = "FAILED";
    console.error(error.message);
  }
  const left = await removeClone(clone, values.keep);
  if (left.length > 0) {
    result = "FAILED";
    console.error(`Had to end: ${describe(left)}`);
  }
  return { result, seconds: Math.round((Date.now() - started) / 1000) };
}
