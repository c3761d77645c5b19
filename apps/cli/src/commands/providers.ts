import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { STARTERS } from "../init/templates.ts";
import { writeList } from "../terminal-text.ts";

const PROVIDERS_HELP = `
Of a sender that is authenticated only, a token or some fields are checked: nothing covers the rest.

Examples:
  $ millrace providers
  $ millrace providers --json`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("providers")
    .description("list the senders that have a provider")
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", PROVIDERS_HELP)
    .action(({ json }: { readonly json?: true }) => {
      const lines = Object.values(STARTERS).map(({ factory, provider }) => ({
        name: provider.name,
        function: `${factory}()`,
        verified: provider.authenticatedOnly !== true,
        id_is_signed: provider.idIsSigned,
      }));
      writeList(context, lines, {
        json,
        none: "",
        heads: ["SENDER", "IN THE CONFIG", "DELIVERIES", "ID"],
        rowOf: (line) => [
          ...[line.name, line.function, line.verified ? "verified" : "authenticated only"],
          line.id_is_signed ? "signed" : "unsigned",
        ],
      });
    });
}
