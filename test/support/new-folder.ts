import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";

/** For the files of a test: what is in it goes when the run ends. */
export const newFolder = () => mkdtempSync(join(inject("folder"), "files-"));
