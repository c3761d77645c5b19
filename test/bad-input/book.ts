import { describe, expect, test } from "vitest";
import { LINES, type Line } from "./lines.ts";

/** Where each test of bad input is entered under the line that it proves. */
export interface Book {
  /** A test of one line, on each backend. */
  proves(line: Line, title: string, run: () => Promise<void>): void;
  /** A test of one line that is answered before any store is asked: on one backend. */
  refuses(line: Line, title: string, run: () => Promise<void>): void;
}

interface Books {
  /** What the tests of one backend are entered in; `isMain` is the one backend of `refuses`. */
  on(backend: { readonly isMain: boolean }): Book;
  /** A test that every line has one. */
  isComplete(): void;
}

export function createBooks(): Books {
  const proved = new Set<number>();
  return {
    on({ isMain }) {
      const proves: Book["proves"] = (line, title, run) => {
        proved.add(line);
        test(`${line}: ${title}`, run);
      };
      return { proves, refuses: isMain ? proves : () => {} };
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
