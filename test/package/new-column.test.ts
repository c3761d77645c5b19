import { writeFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLedger, createPool } from "@millrace/ledger";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Edit } from "../faults/mutants/mutants.ts";
import { createScratch, type Scratch } from "../faults/mutants/scratch.ts";
import { anEvent } from "../support/events.ts";
import { runCommand, startRole, type MillraceProcess } from "../support/millrace-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const CONFIG = fileURLToPath(new URL("../dashboard/fixture/millrace.config.ts", import.meta.url));

const MIGRATION = "packages/ledger/migrations/9999_region.sql";
const MIGRATION_TEXT =
  "ALTER TABLE millrace.events ADD COLUMN region text NOT NULL DEFAULT 'eu';\n";
const CONTRACT: readonly Edit[] = [
  {
    file: "packages/api-contract/src/events.ts",
    from: '  unsigned: z.boolean().describe("Whether the id stands outside what was signed."),\n',
    to:
      '  unsigned: z.boolean().describe("Whether the id stands outside what was signed."),\n' +
      '  region: text("Where it was received."),\n',
  },
];

const PAGE = "apps/ledger-page/src/page/region.ts";
const PAGE_TEXT = `import type { EventRow } from "@millrace/api-contract";
export const regionOf = (event: EventRow): string => event.region;
`;

describe("a new column of an event", { timeout: 300_000 }, () => {
  let copy: Scratch;
  const undo: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    copy = await createScratch(REPOSITORY);
    await writeFile(join(copy.root, PAGE), PAGE_TEXT);
  }, 300_000);
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });
  afterAll(() => copy?.remove());

  const compile = (...args: readonly string[]) => {
    const bin = join(copy.root, "node_modules/typescript/bin/tsc");
    return runCommand(args, {}, { bin, cwd: copy.root, ipc: false });
  };
  const edit = async (edits: readonly Edit[]) => void undo.push(await copy.apply(edits));
  const migrate = async () => {
    await writeFile(join(copy.root, MIGRATION), MIGRATION_TEXT);
    undo.push(() => rm(join(copy.root, MIGRATION)));
  };

  test("needs a migration and the contract, and is everywhere then", async () => {
    await migrate();
    await edit(CONTRACT);
    expect(await compile("-b")).toEqual({ code: 0, output: "" });
    expect(await compile("-p", "apps/ledger-page/tsconfig.page.json")).toEqual({
      code: 0,
      output: "",
    });
    const bundle = { bin: join(copy.root, "scripts/bundle.mjs"), cwd: copy.root, ipc: false };
    expect(await runCommand([], {}, bundle)).toEqual({ code: 0, output: "" });
    const of = { bin: join(copy.root, "apps/cli/bin/millrace.mjs"), cwd: copy.root };
    const database = await scratchDatabase();
    undo.push(() => database.drop());
    const env = { DATABASE_URL: database.url, MILLRACE_CONFIG: CONFIG, DASHBOARD_PORT: "0" };
    expect(await runCommand(["migrate"], env, of)).toMatchObject({ code: 0 });
    await acceptEvent(database.url);
    const dashboard = await startRole("dashboard", env, of);
    undo.push(() => dashboard.end());
    const { events } = (await getJson(dashboard, "/api/events")) as { events: object[] };
    expect(events).toMatchObject([{ event_id: "evt_1", region: "eu" }]);
    expect(await getJson(dashboard, `/api/events/${SOURCE}/evt_1`)).toMatchObject({ region: "eu" });
    const region = { type: "string", description: "Where it was received." };
    expect(await getJson(dashboard, "/api/openapi.json")).toMatchObject({
      components: {
        schemas: {
          EventPage: { properties: { events: { items: { properties: { region } } } } },
        },
      },
    });
    const { code, output } = await runCommand(["events", "--json"], env, of);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ event_id: "evt_1", region: "eu" });
  });
});

const SOURCE = "acme";

async function acceptEvent(url: string): Promise<void> {
  const pool = createPool({ url, max: 1, applicationName: "test" });
  try {
    const event = anEvent({ source: SOURCE, eventId: "evt_1" });
    expect(await createLedger({ pool }).intake.accept([event])).toEqual(["accepted"]);
  } finally {
    await pool.end();
  }
}

async function getJson({ url }: MillraceProcess, path: string): Promise<unknown> {
  const answer = await fetch(`${url}${path}`);
  expect(answer.status).toBe(200);
  return await answer.json();
}
