import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { configSchema } from "./config-schema.ts";
import { environmentSchema } from "./environment.ts";
import { sourceOptionsSchema } from "./source-schema.ts";

const page = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");

/** The rows of the page's tables, by what stands in their first cell. */
const rows = new Map<string, readonly string[]>();
for (const line of page.split("\n").filter((text) => text.startsWith("| `"))) {
  const cells = line
    .slice(2, -2)
    .split(" | ")
    .map((cell) => cell.trim());
  const name = /^`(.+)`$/.exec(cells[0] ?? "")?.[1] ?? "";
  if (rows.has(name)) throw new Error(`${name} stands on the page twice`);
  rows.set(name, cells.slice(1));
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly type?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}

/** Every setting of a schema by its path, with its default and what it may be. */
function settings(shape: Shape, path = ""): [string, Shape][] {
  return Object.entries(shape.properties ?? {}).flatMap(([key, child]): [string, Shape][] => {
    const at = path === "" ? key : `${path}.${key}`;
    return child.properties === undefined ? [[at, child]] : settings(child, at);
  });
}

const shapeOf = (schema: z.ZodType): Shape =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;

const ofConfig = settings(shapeOf(configSchema));
const ofSource = settings(shapeOf(sourceOptionsSchema));
const numbered = [...ofConfig, ...ofSource].filter(([, { minimum }]) => minimum !== undefined);

test("the page has each setting and each variable, and nothing else", () => {
  const variables = [...Object.keys(environmentSchema.shape), "<SOURCE>_WEBHOOK_SECRET"];
  const names = [...ofConfig, ...ofSource].map(([name]) => name);
  expect([...rows.keys()].toSorted()).toEqual([...names, ...variables].toSorted());
});

test.each([...ofConfig, ...ofSource])("%s has its default", (name, shape) => {
  const [given = ""] = rows.get(name) ?? [];
  const wanted = shape.default;
  if (["string", "number", "boolean"].includes(typeof wanted)) {
    expect(numberOf(given)).toBe(`\`${String(wanted)}\``);
  } else {
    expect(given).not.toMatch(/^`/);
  }
});

test.each(numbered)("%s has its bounds", (name, { minimum, maximum }) => {
  const bounds = rows.get(name)?.[1] ?? "";
  const wanted =
    maximum === Number.MAX_SAFE_INTEGER ? `from ${minimum}` : `${minimum} to ${maximum}`;
  expect(numberOf(bounds)).toBe(wanted);
});

test.each(Object.entries(environmentSchema.parse({})))("%s has its default", (name, value) => {
  expect(numberOf(rows.get(name)?.[0] ?? "")).toBe(`\`${String(value)}\``);
});

/** Long numbers are written in groups of three digits. */
function numberOf(text: string): string {
  return text.replaceAll(/(?<=\d)[,_](?=\d{3})/g, "");
}
