import { InvalidArgumentError, type Command } from "commander";
import type { CliContext } from "../context.ts";
import { duration, positiveNumber, wholeNumber } from "../parse-option.ts";
import { parseOverride, type Override } from "../send/create-event.ts";
import type { SendOptions } from "../send/run-send.ts";

const HELP = `
Without a type, it sends the provider's default sample; unknown types get a plain body.
It signs with the source's secret (STRIPE_WEBHOOK_SECRET), or the one that \`millrace start\` created.

Examples:
  $ millrace send hookmesh user.created
  $ millrace send hookmesh user.created --wait  exits with 1 unless the event is completed
  $ millrace send stripe payment_intent.succeeded --count 1000 --rate 200
  $ millrace send hookmesh order.shipped --set payload.carrier=none
  $ millrace send github push --id 5d0b... --duplicates 9
  $ millrace send standard invoice.paid --data invoice.json
  $ echo '{"type":"a"}' | millrace send standard a --data -`;

/** `millrace send <source> [type]`: posts signed events as the provider would. */
export function addSendCommand(program: Command, context: CliContext): void {
  const command = program.command("send");
  command
    .description("post signed sample events to an ingress")
    .argument("<source>", "a source in the config")
    .argument("[type]", "the event's type")
    .option("--id <id>", "the event's id (default: a new one)")
    .option("--count <n>", "number of events to send", wholeNumber({ min: 1, max: 100_000_000 }), 1)
    .option(
      "--duplicates <n>",
      "send each event n more times",
      wholeNumber({ min: 0, max: 100_000 }),
      0,
    )
    .option("--rate <n>", "at most this many deliveries per second", positiveNumber)
    .option("--concurrency <n>", "deliveries in flight", wholeNumber({ min: 1, max: 1_000 }), 20)
    .option("--data <file>", "file with the body, or - for standard input")
    .option("--set <field=value>", "set a field of the body (repeatable)", collectOverride)
    .option("--url <url>", "the ingress's URL (default: the running one)")
    .option("--wait", "wait until the event is completed or failed, and print which")
    .option("--timeout <time>", "how long --wait waits (default: 60s)", duration)
    .addHelpText("after", HELP)
    .action(async (source: string, type: string | undefined, options: SendOptions) => {
      if (options.timeout !== undefined && options.wait !== true) {
        command.error("error: --timeout needs --wait");
      }
      if (options.wait === true && (options.count > 1 || options.duplicates > 0)) {
        command.error("error: --wait needs one event: remove --count and --duplicates");
      }
      const { runSend } = await import("../send/run-send.ts");
      context.setExitCode(await runSend(context, { source, type, options }));
    });
}

function collectOverride(text: string, earlier: readonly Override[] = []): Override[] {
  const override = parseOverride(text);
  if (override === undefined) throw new InvalidArgumentError("It must be field=value.");
  return [...earlier, override];
}
