import { parseArgs } from "node:util";

/**
 * Reads a script's options and `--help`. A mistake prints one line and ends the script with 2.
 * `check` gets the values and returns the mistake in them, if there is one. With `words`, the value
 * `words` holds the arguments that are no options.
 *
 * @param {import("node:util").ParseArgsConfig["options"]} options
 * @param {string} help
 * @param {(values: any) => string | undefined} [check]
 * @returns {Record<string, any>}
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

/** @returns {Record<string, any>} */
function parse(options, allowPositionals) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals });
    return allowPositionals ? { ...values, words: positionals } : values;
  } catch (error) {
    return refuse(error.message.split(". ")[0]);
  }
}

/** @returns {never} */
function refuse(mistake) {
  console.error(`${mistake}. Try --help`);
  process.exit(2);
}
