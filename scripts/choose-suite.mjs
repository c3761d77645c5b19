/** The projects of vitest.config.ts that each script runs. */
const SUITES = {
  test: ["unit", "integration"],
  proofs: ["proofs"],
  nightly: ["nightly"],
  faults: ["faults"],
  "all-faults": ["all-faults"],
};

/**
 * Reads `[--suite <name>] [argument for vitest]...`, and gives vitest's arguments. The suite is
 * `test` by default. An argument that is a path (it has a slash) runs its files in any suite; so
 * does `--project`, which is vitest's own.
 */
export function chooseSuite(args) {
  const [flag, name] = args;
  const suite = flag === "--suite" ? SUITES[name] : SUITES.test;
  if (suite === undefined) {
    throw new Error(`No such suite: ${name}. There are ${Object.keys(SUITES).join(", ")}`);
  }
  const own = flag === "--suite" ? args.slice(2) : args;
  const isChosen = own.some((arg) => /^--project\b|^[^-].*\//.test(arg));
  return isChosen ? own : [...suite.map((project) => `--project=${project}`), ...own];
}
