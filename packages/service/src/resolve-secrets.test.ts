import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseConfig, type Provider } from "@millrace/core";
import { resolveSecrets } from "./resolve-secrets.ts";

const provider = {
  createVerifier: () => ({ verify: () => ({ ok: true }) }),
} as unknown as Provider;
const config = parseConfig({
  sources: {
    "hook-mesh": { provider, options: {} },
    stripe: { provider, options: { secret: ["from-config"] } },
  },
});

const folder = mkdtempSync(join(tmpdir(), "millrace-secrets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the environment goes before the config, and commas part secrets", () => {
  const secrets = resolveSecrets(config, {
    HOOK_MESH_WEBHOOK_SECRET: "new, old ,",
    STRIPE_WEBHOOK_SECRET: "from-env",
  });
  expect(secrets).toEqual({ "hook-mesh": ["new", "old"], stripe: ["from-env"] });
});

test("an empty variable counts as unset, and a source without a secret is left out", () => {
  expect(
    resolveSecrets(config, { HOOK_MESH_WEBHOOK_SECRET: "", STRIPE_WEBHOOK_SECRET: "" }),
  ).toEqual({ stripe: ["from-config"] });
});

test("a secret can come from a file, and one that cannot be read is named", () => {
  const file = join(folder, "secret");
  writeFileSync(file, "from-file\n");
  expect(resolveSecrets(config, { STRIPE_WEBHOOK_SECRET_FILE: file })["stripe"]).toEqual([
    "from-file",
  ]);
  expect(() => resolveSecrets(config, { STRIPE_WEBHOOK_SECRET_FILE: `${file}.gone` })).toThrow(
    /STRIPE_WEBHOOK_SECRET_FILE: ENOENT/,
  );
});
