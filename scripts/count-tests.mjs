import { readFileSync } from "node:fs";
import { relative } from "node:path";

const REMEDIES = {
  "redis-server": "not on this machine: apt-get install redis-server, or brew install redis",
  gcc: "not on this machine: apt-get install gcc libc6-dev",
  chromium: "not on this machine: apt-get install chromium, or name one in CHROMIUM",
};

/**
 * Counts what vitest's JSON report holds. A file that failed before its tests were known counts
 * as one that failed; so does a report that was never written.
 */
export function countTests(report) {
  const counts = { passed: 0, failed: 0, skipped: 0, skippedTitles: [], failures: [] };
  const files = readReport(report);
  if (files === undefined) return { ...counts, failed: 1, failures: ["vitest wrote no report"] };
  for (const file of files) {
    const before = counts.failed;
    const name = relative(process.cwd(), file.name);
    for (const test of file.assertionResults) {
      if (test.status === "passed") counts.passed += 1;
      else if (test.status === "failed") {
        counts.failed += 1;
        counts.failures.push(`${name} > ${test.fullName}: ${test.failureMessages[0]}`);
      } else {
        counts.skipped += 1;
        counts.skippedTitles.push(test.fullName);
      }
    }
    if (file.status === "failed" && counts.failed === before) {
      counts.failed += 1;
      counts.failures.push(`${name}: ${file.message}`);
    }
  }
  return counts;
}

/** A line for each test that failed: its file, its title, and the first line of its error. */
export function failedLines({ failures }) {
  return failures.map((text) => `FAILED: ${text.split("\n", 1)[0].trim()}`);
}

/**
 * Names the programs whose absence skipped tests, and how to get them. Suites name one in their
 * title as `(needs redis-server)`. The innermost title that wants something is the one that
 * skipped.
 */
export function notRun(counts) {
  const wants = new Map();
  for (const title of counts.skippedTitles) {
    const want = [...title.matchAll(/\(needs ([^)]+)\)/g)].at(-1)?.[1];
    if (want !== undefined) wants.set(want, (wants.get(want) ?? 0) + 1);
  }
  return [...wants].map(([want, count]) => {
    const remedy = REMEDIES[want] === undefined ? "" : ` (${REMEDIES[want]})`;
    return `NOT RUN: ${count} tests need ${want}${remedy}`;
  });
}

function readReport(report) {
  try {
    return JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    return undefined;
  }
}
