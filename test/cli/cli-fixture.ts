import { fileURLToPath } from "node:url";
import { millrace, type CommandOptions, type Outcome } from "../support/run-in-process.ts";
import { environmentOf } from "../support/server-urls.ts";
import { openTestStores, type TestStores } from "../support/stores-fixture.ts";
import type { TestServers } from "../support/backends.ts";

export const doctorConfig = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/doctor/${name}.config.ts`, import.meta.url));

export interface TestCommand extends TestStores {
  options(): Required<Pick<CommandOptions, "env">>;
  run(...args: readonly string[]): Promise<Outcome>;
}

export async function openTestCommand(servers: TestServers): Promise<TestCommand> {
  const stores = await openTestStores(servers);
  const env = { MILLRACE_CONFIG: doctorConfig("millrace"), ...environmentOf(servers) };
  return {
    ...stores,
    options: () => ({ env }),
    run: (...args) => millrace(args, { env }),
  };
}
