import { fileURLToPath } from "node:url";
import { millrace } from "../support/run-in-process.ts";
import { environmentOf } from "../support/server-urls.ts";
import { openTestStores } from "../support/stores-fixture.ts";
import type { TestServers } from "../support/backends.ts";

export const doctorConfig = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/doctor/${name}.config.ts`, import.meta.url));

export async function openTestCommand(servers: TestServers) {
  const stores = await openTestStores(servers);
  const env = { MILLRACE_CONFIG: doctorConfig("millrace"), ...environmentOf(servers) };
  return {
    ...stores,
    options: () => ({ env }),
    run: (...args: readonly string[]) => millrace(args, { env }),
  };
}
