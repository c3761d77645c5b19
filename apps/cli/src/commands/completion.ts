import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";

const HELP = `
The script asks \`millrace\` itself, which must be on the PATH: install it globally, or add
node_modules/.bin to the PATH.

Examples:
  $ source <(millrace completion bash)                    # in ~/.bashrc to keep it
  $ source <(millrace completion zsh)                     # in ~/.zshrc
  $ millrace completion fish > ~/.config/fish/completions/millrace.fish`;

/** `millrace completion <shell>`: every command and option that is there, with the words it takes. */
export function addCompletion(program: Command): void {
  tab(program, { completionCommandName: "completion" });
  const command = program.commands.find((each) => each.name() === "completion");
  command
    ?.description("print a script that completes commands in a shell")
    .addHelpText("after", HELP);
}
