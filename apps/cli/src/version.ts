import { createRequire } from "node:module";
import { z } from "zod";

const manifestSchema = z.object({ version: z.string() });

/** The version of this command, as its package says. */
export function version(): string {
  const manifest: unknown = createRequire(import.meta.url)("../package.json");
  return manifestSchema.parse(manifest).version;
}
