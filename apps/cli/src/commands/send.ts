import { MillraceError, type SignRequest, tenantEventId } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { InvalidArgumentError, type Command } from "commander";
import { awaitEnd, describeEnd, exitCodeOf } from "../await-end.ts";
import { type CliContext, readInput, type Settings } from "../context.ts";
import { readRun } from "../data-folder.ts";
import { findReceiver } from "../find-source.ts";
import { duration, tenantOption, wholeNumber, WAIT_MS } from "../parse-option.ts";
import {
  parseOverride,
  type Override,
  createEvent,
  type EventRecipe,
  usualType,
  identifiedAs,
} from "../send/create-event.ts";
import { answerText, postDelivery, resultOf, sendMany, unreachable } from "../send/send-many.ts";
import { withLedger } from "../stores.ts";
import { createPrinter, printable } from "../terminal-text.ts";

const HELP = `
Without a type, it sends the provider's default sample; unknown types get a plain body.
It signs with the source's secret (STRIPE_WEBHOOK_SECRET), or the one that \`millrace start\` created.

Examples:
  $ millrace send hookmesh user.created
  $ millrace send hookmesh user.created --wait  exits with 1 unless the event is completed
  $ millrace send stripe payment_intent.succeeded --count 1000
  $ millrace send hookmesh order.shipped --set payload.carrier=none
  $ millrace send stripe invoice.paid --tenant acme
  $ millrace send standard invoice.paid --data invoice.json
  $ echo '{"type":"a"}' | millrace send standard a --data -`;

export function addCommands(program: Command, context: CliContext): void {
  const command = program.command("send");
  command
    .description("post signed sample events to an ingress")
    .argument("<source>", "a source in the config")
    .argument("[type]", "the event's type")
    .addOption(tenantOption("a tenant of the source: signs with its secret, posts to its URL"))
    .option("--id <id>", "the event's id (default: a new one)")
    .option("--count <n>", "number of events to send", wholeNumber({ min: 1, max: 100_000_000 }), 1)
    .option("--data <file>", "file with the body, or - for standard input")
    .option("--set <field=value>", "set a field of the body (repeatable)", collectOverride)
    .option("--url <url>", "the ingress's URL (default: the running one)")
    .option("--wait", "wait until the event is completed or failed, and print which")
    .option("--timeout <time>", "how long --wait waits (default: 60s)", duration)
    .option("--json", "print a line of JSON for each event that is sent")
    .addHelpText("after", HELP)
    .action(async (source: string, type: string | undefined, options: SendOptions) => {
      if (options.timeout !== undefined && options.wait !== true) {
        command.error("error: --timeout needs --wait");
      }
      if (options.wait === true && options.count > 1) {
        command.error("error: --wait needs one event: remove --count");
      }
      context.setExitCode(await runSend(context, source, type, options));
    });
}

function collectOverride(text: string, earlier: readonly Override[] = []): Override[] {
  const override = parseOverride(text);
  if (override === undefined) throw new InvalidArgumentError("It must be field=value.");
  return [...earlier, override];
}

interface SendOptions {
  readonly tenant?: string;
  readonly id?: string;
  readonly count: number;
  readonly data?: string;
  readonly set?: readonly Override[];
  readonly url?: string;
  readonly wait?: true;
  readonly timeout?: number;
  readonly json?: true;
}

async function runSend(
  context: CliContext,
  source: string,
  type: string | undefined,
  options: SendOptions,
): Promise<number> {
  const { tenant } = options;
  const receiver = await findReceiver(context, { ...options, source }, "send to");
  const { provider } = receiver.source;
  const [secret = ""] = receiver.secrets[source] ?? [];
  const path = [source, tenant].filter((part) => part !== undefined).join("/");
  const url = await ingressUrl(`/webhooks/${path}`, options.url, receiver);
  const recipe: EventRecipe = {
    provider,
    secret,
    type: type ?? usualType(provider),
    id: options.id,
    data: options.data === undefined ? undefined : await readInput(options.data, context),
    overrides: options.set ?? [],
  };

  const deliver = (event: SignRequest) => postDelivery(url, provider.sign(event), event.body);
  const namesOf = (event: SignRequest) =>
    identifiedAs(provider, event, provider.sign(event)).map(({ type: named, eventId }) => {
      return { source, type: named, event_id: tenantEventId(tenant, eventId) };
    });
  const print = createPrinter(context, options.json);
  if (options.count > 1) {
    const deliverOne = async (event: SignRequest) => {
      const reply = await deliver(event);
      const names = options.json === true ? namesOf(event) : [];
      for (const name of names) print({ json: { ...name, ...resultOf(reply) } });
      return reply;
    };
    return await sendMany(recipe, deliverOne, { ...context, count: options.count, print });
  }
  const event = createEvent(recipe, 0);
  const names = namesOf(event);
  const sendOne = async (ledger?: Pick<Ledger, "reads">): Promise<number> => {
    const reply = await deliver(event);
    if (reply.kind === "no_answer" && reply.refused) throw unreachable(reply.reason);
    const heading = names.map((name) => printable(`${source} ${name.type} ${name.event_id}`));
    print({ text: [...heading, answerText(reply)].join("\n") });
    const result = resultOf(reply);
    const isTaken = result.outcome !== "rejected";
    const codes = names.map(async (name) => {
      const json = { ...name, ...result };
      if (ledger === undefined || !isTaken) {
        print({ json });
        return 0;
      }
      const timeoutMs = options.timeout ?? WAIT_MS;
      const ended = await awaitEnd(ledger, { source, eventId: name.event_id }, timeoutMs);
      const which = names.length > 1 ? `${printable(name.event_id)} ` : "";
      const text = `${which}${describeEnd(ended, timeoutMs)}`;
      print({ json: { ...json, event: ended ?? null }, text });
      return exitCodeOf(ended);
    });
    return Math.max(isTaken ? 0 : 1, ...(await Promise.all(codes)));
  };
  // A ledger that cannot be read is found before anything is sent.
  return await (options.wait === true ? withLedger(context, sendOne) : sendOne());
}

export async function ingressUrl(
  path: string,
  asked: string | undefined,
  settings: Settings,
): Promise<URL> {
  const running = asked ?? (await readRun(settings.dataDir))?.ingress_url;
  const text = running ?? `http://127.0.0.1:${settings.environment.INGRESS_PORT}`;
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new MillraceError(
      "invalid_request",
      `Cannot send to "${text}": it is not a URL that begins with http:// or https://`,
    );
  }
  const url = new URL(text);
  if (!url.pathname.endsWith(path)) url.pathname = `${url.pathname.replace(/\/$/, "")}${path}`;
  return url;
}
