import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { hmacOptionsSchema } from "./hmac.ts";
import { signatureSchema } from "./signature/signature-options.ts";

const read = (name: string) =>
  readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8");
const page = read("recipes");

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly default?: string;
}

test("the recipes have a row for every option of hmac(), with its default", () => {
  const rows = [...page.matchAll(/^\| `([\w.]+)` +\| (.*?) +\|/gm)].map(([, name, given]) => {
    return [name, given?.replaceAll("`", "")];
  });
  const wanted = rowsOf(
    z.toJSONSchema(hmacOptionsSchema, { io: "input", unrepresentable: "any" }) as Shape,
  );
  expect(rows).toEqual(wanted);
});

test("the sample with every option has every option", () => {
  const [, sample = ""] = /billing: hmac\(\{([\s\S]*?)\n {4}\}\)/.exec(page) ?? [];
  const names = [...sample.matchAll(/^ {6}(\w+):/gm)].map(([, name]) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(hmacOptionsSchema.shape)));
});

test("the page on custom providers has a row for every word of signature()", () => {
  const [, section = ""] = read("custom-provider").split(/^## signature\(\)$/m);
  const [table = ""] = section.split(/^## /m);
  const words = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, word]) => word);
  expect(words).toEqual(Object.keys(signatureSchema.shape));
});

/** Each option with its default: those that differ from what the schema says are words. */
function rowsOf(shape: Shape, path = "", isOptional = false): [string, string][] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, child]): [string, string][] => {
    const at = path + name;
    const optional = isOptional || !(shape.required ?? []).includes(name);
    if (child.properties !== undefined) return rowsOf(child, `${at}.`, optional);
    if (at === "message") return [[at, "{body}"]];
    if (child.default === undefined) return [[at, optional ? "none" : "required"]];
    return [[at, child.default === "" ? "empty" : child.default]];
  });
}
