import { parseArgs } from "node:util";

/**
 * Reads a script's options, with `--help` among them. A mistake is told in one line and ends it with 2.
 * `check` gets the values, and returns what is wrong with them, if anything is. With `words`, the value
 * `words` holds what stands beside the options.
 */
export function readOptions(options, help, check = () => undefined, { words = false } = {}) {
  const known = { ...options, help: { type: "boolean", short: "h", default: false } };
  const values = parse(known, words);
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const mistake = check(values);
  if (mistake !== undefined) refuse(mistake);
  return values;
}

function parse(options, allowPositionals) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals });
    return allowPositionals ? { ...values, words: positionals } : values;
  } catch (error) {
    return refuse(error.message.split(". ")[0]);
  }
}

function refuse(mistake) {
  console.error(`${mistake}. Try --help`);
  process.exit(2);
}
