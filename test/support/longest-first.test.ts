import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LONGEST } from "./longest-first.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

// A file that has another name runs when its size says, which may be last and alone.
test("every file that begins first is there", () => {
  expect(LONGEST.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
});
