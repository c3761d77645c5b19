import { spawn } from "node:child_process";
import { once } from "node:events";
import { MillraceError } from "@millrace/core";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { readRun } from "../data-folder.ts";

const HELP = `
Prints the address and opens it in the browser: of the running \`millrace start\`, or of DASHBOARD_URL.

Examples:
  $ millrace open
  $ millrace open stripe evt_123                the page of one event
  $ millrace open --print`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("open")
    .description("open the dashboard in the browser")
    .argument("[source]", "the source of an event")
    .argument("[id]", "the id of an event, to open its page")
    .option("--print", "only print the address")
    .addHelpText("after", HELP)
    .action(async (source?: string, eventId?: string, options: { print?: true } = {}) => {
      const url = await findPage(context, source, eventId);
      context.stdout.write(`${url}\n`);
      if (options.print !== true) await openInBrowser(context, url);
    });
}

/** @throws `invalid_config` without a run here and without `DASHBOARD_URL` */
async function findPage(context: CliContext, source?: string, eventId?: string): Promise<string> {
  const { environment, dataDir } = readSettings(context);
  const base = environment.DASHBOARD_URL ?? (await readRun(dataDir))?.dashboard_url;
  if (base === undefined) {
    const why = `DASHBOARD_URL is not set, and no \`millrace start\` runs in ${dataDir}`;
    throw new MillraceError("invalid_config", `Cannot find the dashboard: ${why}`);
  }
  if (source === undefined) return base;
  const query = new URLSearchParams(eventId === undefined ? { source } : { source, id: eventId });
  const page = eventId === undefined ? "events" : "event";
  return `${base.replace(/\/$/, "")}/${page}?${query.toString()}`;
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** A machine without a browser has the address in its terminal. */
async function openInBrowser({ stderr }: CliContext, url: string): Promise<void> {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  try {
    await once(child, "spawn");
    child.unref();
  } catch {
    stderr.write("note: found no browser to open it in\n");
  }
}
