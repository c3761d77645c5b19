import { describe } from "vitest";
import { executablePath } from "./executable-path.ts";

/** In CI the suite runs, and fails, without the program. */
export function describeWith(program: string, title: string, suite: () => void): void {
  const isThere = executablePath(program, ["/usr/sbin"]) !== undefined;
  const isSkipped = !isThere && process.env["CI"] !== "true";
  describe.skipIf(isSkipped)(`${title} (needs ${program})`, suite);
}
