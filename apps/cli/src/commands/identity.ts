import { findJobOwner, openLedger } from "@millrace/connect";
import { hasCode, isSameDatabase, MillraceError } from "@millrace/core";
import type { Ledger, LedgerIdentity } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { choice } from "../parse-option.ts";
import { findProject, withOpen, withQueues } from "../stores.ts";
import { createPrinter } from "../terminal-text.ts";

const RESTORED_HELP = `
After the database was restored from a dump, moved to another server, or upgraded with pg_upgrade:
workers start on it again as the same ledger. Stop the workers of the other database first.`;

const ADOPT_HELP = `
After the database was copied, for staging or for a test: gives the copy an id of its own, so that
its workers can start while those of the original run. Give the copy's roles their own Redis, or their
own QUEUE_PREFIX. Pending events are failed (given_up) with "hold", because the original runs them too;
\`millrace retry\` runs them here. With "run", workers run them here as well.

Examples:
  $ QUEUE_PREFIX=staging millrace adopt
  $ QUEUE_PREFIX=staging millrace adopt --pending run`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("restored")
    .description("continue on a database that was restored or moved")
    .option("--json", "print the result as JSON")
    .addHelpText("after", RESTORED_HELP)
    .action(({ json }: { json?: true }) => runRestored(context, json));
  program
    .command("adopt")
    .description("make a copied database a ledger of its own")
    .addOption(
      choice("--pending <action>", "hold (default) or run", ["hold", "run"]).default("hold"),
    )
    .option("--json", "print the result as JSON")
    .addHelpText("after", ADOPT_HELP)
    .action((options: AdoptOptions) => runAdopt(context, options));
}

async function runRestored(context: CliContext, json: true | undefined): Promise<void> {
  await onCopy(context, async ({ identity, repair, queues }) => {
    if (queues.backend === "redis") {
      await findJobOwner(queues, [...queues.queues.keys()], identity).catch((error: unknown) => {
        if (!hasCode(error, "queue_unclaimed")) throw error;
      });
    }
    await repair.keepIdentity(identity, { signs: false });
    const { ledger } = identity;
    const text = `restored: workers of the ledger ${ledger} can start here`;
    createPrinter(context, json)({ json: { ledger }, text });
  });
}

interface AdoptOptions {
  readonly pending: "hold" | "run";
  readonly json?: true;
}

async function runAdopt(context: CliContext, { pending, json }: AdoptOptions): Promise<void> {
  await onCopy(context, async ({ identity, repair, queues }) => {
    const holdPending = pending === "hold";
    if (queues.backend === "redis") await requireNoJobs(queues, identity);
    const { ledger, held } = await repair.adoptLedger(identity, { holdPending });
    // The queue on Postgres was copied with its jobs.
    if (holdPending && queues.backend === "postgres") {
      await Promise.all(
        [...queues.queues.values()].map((queue) => queue.obliterate({ force: true })),
      );
    }
    const told = holdPending ? `; ${held} pending events are failed (given_up)` : "";
    const text = `adopted: this is the ledger ${ledger} now${told}`;
    createPrinter(context, json)({ json: { ledger, held }, text });
  });
}

/** @throws `invalid_request` on the database that the workers ran on */
async function onCopy(context: CliContext, work: (copy: Copy) => Promise<void>): Promise<void> {
  const project = await findProject(context);
  await withOpen(await openLedger(project.stores.DATABASE_URL), async ({ ledger }) => {
    const identity = await ledger.repair.readIdentity();
    if (identity.ranOn === undefined || isSameDatabase(identity.ranOn, identity)) {
      throw new MillraceError(
        "invalid_request",
        `Nothing to do: the ledger ${identity.ledger} is on the database that its workers ran on`,
      );
    }
    const { repair } = ledger;
    await withQueues(project, (queues) => work({ identity, queues, repair }));
  });
}

interface Copy {
  readonly identity: LedgerIdentity;
  readonly queues: Queues;
  readonly repair: Ledger["repair"];
}

async function requireNoJobs(queues: Queues, { ledger }: LedgerIdentity): Promise<void> {
  const counts = await queues.counts();
  for (const source of queues.queues.keys()) {
    const mark = await queues.readMark(source);
    const { waiting = 0, active = 0, delayed = 0 } = counts.get(source) ?? {};
    const jobs = waiting + active + delayed;
    if (mark?.ledger !== ledger || (!mark.isLive && jobs === 0)) continue;
    throw new MillraceError(
      "queue_in_use",
      `Cannot adopt the ledger: the queue of source "${source}" is the original's and has ${jobs} jobs. ` +
        "Set another QUEUE_PREFIX or REDIS_URL for this copy",
    );
  }
}
