import { fileURLToPath } from "node:url";
import { runCommand } from "../support/millrace-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

export const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
export const SECRET = "whsec_a_secret_of_the_examples";

export async function migratedDatabase(example: string) {
  const database = await scratchDatabase();
  const env = {
    DATABASE_URL: database.url,
    STRIPE_WEBHOOK_SECRET: SECRET,
    MILLRACE_CONFIG: `${EXAMPLES}${example}/millrace.config.ts`,
  };
  const migrated = await runCommand(["migrate"], env);
  if (migrated.code !== 0) throw new Error(`Cannot migrate: ${migrated.output}`);
  return { ...database, env };
}
