import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const MIGRATIONS = new URL("../../packages/ledger/migrations/", import.meta.url);
const PINNED = new URL("migrations.sha256", import.meta.url);

// In the format of `sha256sum`: `cd packages/ledger/migrations && sha256sum -c` checks it too.
const pinned = new Map(
  readFileSync(PINNED, "utf8")
    .trimEnd()
    .split("\n")
    .map((line): [string, string] => [line.slice(66), line.slice(0, 64)]),
);

test("the file of pinned checksums names every migration", () => {
  expect([...pinned.keys()]).toEqual(readdirSync(MIGRATIONS).toSorted());
});

// A database that has applied a migration refuses to start when the file is different, so not even
// a comment in it may change. What has to change in the schema goes into a new migration.
test.each([...pinned])("migration %s is unchanged to the byte", (file, checksum) => {
  const bytes = readFileSync(new URL(file, MIGRATIONS));
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(checksum);
});
