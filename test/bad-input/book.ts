import { describe, expect, test } from "vitest";
import { LINES, type Line } from "./lines.ts";

/** Where each test of bad input is entered under the line that it proves. */
export interface Book {
  /** A test of one line. */
  proves(line: Line, title: string, run: () => Promise<void>): void;
  /** A test that every line has one. */
  isComplete(): void;
}

export function createBook(): Book {
  const proved = new Set<number>();
  return {
    proves(line, title, run) {
      proved.add(line);
      test(`${line}: ${title}`, run);
    },
    isComplete() {
      describe("the list of bad input", () => {
        test("every line has a test", () => {
          const missing = Object.entries(LINES).filter(([line]) => !proved.has(Number(line)));
          expect(missing).toEqual([]);
        });
      });
    },
  };
}
