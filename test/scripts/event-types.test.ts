import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { eventTypes } from "./event-types.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = join(ROOT, "decisions", "025-eleven-types-for-an-event.md");

/** The names in the first column of each table of a page. */
async function listsOf(page: string): Promise<string[][]> {
  const text = await readFile(page, "utf8");
  const tables = text.split(/^\| type .*\n/m).slice(1);
  return tables.map((table) => [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = ""]) => name));
}

test("an event or its key has at most eleven types, and the decision lists each with its reason", async () => {
  const [events = [], records = []] = await listsOf(PAGE);
  expect(events).toHaveLength(11);
  expect(records.length).toBeGreaterThan(0);
  const found = eventTypes(ROOT, { events, records });
  const listed = [...events, ...records];
  expect([...found].filter((name) => !listed.includes(name))).toEqual([]);
  // These have the id under another name, or are made from a schema.
  const unseen = ["Envelope", "WebhookEvent", "EventRow", "EventDetail"];
  expect(listed.filter((name) => !found.has(name))).toEqual(unseen);
});

test("a type of its own, a derived one, and a shape in a signature are found", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-event-types-"));
  try {
    execFileSync("git", ["init", "--quiet"], { cwd: folder });
    await mkdir(join(folder, "packages/a/src"), { recursive: true });
    await writeFile(
      join(folder, "packages/a/src/a.ts"),
      [
        "interface Own { readonly eventId: string }",
        "interface Extended extends EventKey { readonly more: string }",
        'type Picked = Pick<EventKey, "source">;',
        "type Added = EventKey & { readonly more: string };",
        "interface Holds { readonly event: EventKey }",
        'const checked = { source: "a" } satisfies Partial<EventKey>;',
        "",
      ].join("\n"),
    );
    await writeFile(
      join(folder, "packages/a/src/b.ts"),
      "export function f(key: { source: string; eventId: string }): void {}\n",
    );
    execFileSync("git", ["add", "."], { cwd: folder });
    expect([...eventTypes(folder, { events: ["EventKey"], records: [] })]).toEqual([
      ...["Own", "Extended", "Picked", "Added", "anonymous in packages/a/src/b.ts"],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
