import { parseArgs } from "node:util";

/**
 * Reads a script's options, with `--help` among them. A mistake is told in one line and ends it with 2.
 * `check` gets the values, and returns what is wrong with them, if anything is.
 */
export function readOptions(options, help, check = () => undefined) {
  const values = parse({ ...options, help: { type: "boolean", short: "h", default: false } });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const mistake = check(values);
  if (mistake !== undefined) refuse(mistake);
  return values;
}

function parse(options) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return refuse(error.message.split(". ")[0]);
  }
}

function refuse(mistake) {
  console.error(`${mistake}. Try --help`);
  process.exit(2);
}
