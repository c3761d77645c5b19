import { describe } from "vitest";
import { executablePath } from "./executable-path.ts";

/** Without the program the suite is skipped, and in CI it fails. */
export function describeWith(program: string, title: string, suite: () => void): void {
  const isThere = executablePath(program, ["/usr/sbin"]) !== undefined;
  if (!isThere && process.env["CI"] === "true")
    throw new Error(`Cannot run the suite "${title}": there is no ${program} on the PATH`);
  describe.skipIf(!isThere)(`${title} (needs ${program})`, suite);
}
