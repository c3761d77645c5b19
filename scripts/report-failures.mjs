/**
 * Prints each failure when it happens, for long runs that somebody breaks off: vitest's own report
 * comes last.
 */
export default class FailureReporter {
  /** @param {import("vitest/node").TestCase} testCase */
  onTestCaseResult(testCase) {
    const { state, errors = [] } = testCase.result();
    if (state !== "failed") return;
    console.log(`FAILED ${testCase.module.moduleId}: ${testCase.fullName}`);
    for (const { stack, message, diff } of errors) {
      const ofTests = (stack ?? message)
        .split("\n")
        .filter((line) => !line.includes("node_modules"));
      console.log([...ofTests, diff ?? ""].join("\n"));
    }
  }
}
