import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { MillraceError, parseConfig, type Provider } from "@millrace/core";
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

test("the comma of v1,whsec_ is part of its secret", () => {
  const secrets = resolveSecrets(config, { STRIPE_WEBHOOK_SECRET: "v1,whsec_new, whsec_old" });
  expect(secrets["stripe"]).toEqual(["v1,whsec_new", "whsec_old"]);
});

test("a key in PEM is one secret of several lines, in the variable and in the file", () => {
  const pem = "-----BEGIN PUBLIC KEY-----\nMIIB\nAQAB\n-----END PUBLIC KEY-----";
  const file = join(folder, "keys.pem");
  writeFileSync(file, `${pem}\n${pem}\n`);
  const env = { HOOK_MESH_WEBHOOK_SECRET: `${pem},\nplain`, STRIPE_WEBHOOK_SECRET_FILE: file };
  expect(resolveSecrets(config, env)).toEqual({ "hook-mesh": [pem, "plain"], stripe: [pem, pem] });
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

test("a JSON list holds secrets with commas, in the variable and in the file", () => {
  const list = JSON.stringify(["with, a comma", "and another"]);
  const file = join(folder, "list");
  writeFileSync(file, `${list}\n`);
  const expected = ["with, a comma", "and another"];
  expect(resolveSecrets(config, { STRIPE_WEBHOOK_SECRET: list })["stripe"]).toEqual(expected);
  expect(resolveSecrets(config, { STRIPE_WEBHOOK_SECRET_FILE: file })["stripe"]).toEqual(expected);
});

test("a file holds one secret a line, and a comma belongs to its secret", () => {
  const file = join(folder, "lines");
  writeFileSync(file, "first, with a comma\nsecond\r\n\n");
  expect(resolveSecrets(config, { STRIPE_WEBHOOK_SECRET_FILE: file })["stripe"]).toEqual([
    "first, with a comma",
    "second",
  ]);
});

test("a comma list with a part that cannot be a secret is refused, and never quoted", () => {
  const strict = {
    createVerifier: ([secret = ""]) => {
      if (secret.length < 8) throw new MillraceError("missing_secret", "the secret is too short");
      return { verify: () => ({ ok: true }) };
    },
  } as unknown as Provider;
  const sources = { sources: { acme: { provider: strict, options: {} } } };
  const read = (text: string) => () =>
    resolveSecrets(parseConfig(sources), { ACME_WEBHOOK_SECRET: text });
  expect(read("whsec_a-secret-with,comma")).toThrow(
    /ACME_WEBHOOK_SECRET: part 2 of its comma-separated list cannot be a secret/,
  );
  expect(read("whsec_a-secret-with,comma")).not.toThrow(/secret-with/);
  expect(read("whsec_a-secret-with,whsec_another-secret")()["acme"]).toHaveLength(2);
});

test.each(['["one"', '["one", 2]', "[]", '[""]'])(
  "what begins as a JSON list and is none is refused: %s",
  (text) => {
    expect(() => resolveSecrets(config, { STRIPE_WEBHOOK_SECRET: text })).toThrow(
      /STRIPE_WEBHOOK_SECRET: it begins with "\[" and is not a JSON list of secrets/,
    );
  },
);

test("quotes around a known sender's secret are left out, and those of another are its own", () => {
  const named = { ...provider, name: "hmac" } as Provider;
  const sources = { stripe: { provider, options: {} }, own: { provider: named, options: {} } };
  const env = { STRIPE_WEBHOOK_SECRET: '"whsec_1"', OWN_WEBHOOK_SECRET: '"quoted"' };
  expect(resolveSecrets(parseConfig({ sources }), env)).toEqual({
    ...{ stripe: ["whsec_1"], own: ['"quoted"'] },
  });
});

test("a secret without its sender's prefix is told, unquoted, and kept", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  const sources = { pay: { provider: { ...provider, secretPrefix: "whsec_" }, options: {} } };
  const read = (text: string) =>
    resolveSecrets(parseConfig({ sources }), { PAY_WEBHOOK_SECRET: text });
  read("whsec_one,whsec_two");
  expect(warn).not.toHaveBeenCalled();
  expect(read("whsec_one,sk_live_two")).toEqual({ pay: ["whsec_one", "sk_live_two"] });
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/"pay" does not begin with "whsec_".*API key/), expect.anything()],
  ]);
  warn.mockRestore();
});
