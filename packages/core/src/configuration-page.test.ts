import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { configSchema } from "./config-schema.ts";
import { environmentSchema } from "./environment.ts";
import { sourceOptionsSchema } from "./source-schema.ts";

const page = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");

/** Default and bounds of each setting and variable, which has a heading and so a link. */
const rows = new Map<string, readonly string[]>();
for (const [, name = "", section = ""] of page.matchAll(/^#{3,4} `(.+)`\n\n((?:(?!^#)[^])*)/gm)) {
  if (rows.has(name)) throw new Error(`${name} stands on the page twice`);
  const fact = (title: string) => new RegExp(`^- ${title}: (.+)$`, "m").exec(section)?.[1] ?? "";
  if (!/^[^-\n]/.test(section)) throw new Error(`${name} has no sentence`);
  rows.set(name, [fact("Default"), fact("Allowed")]);
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly type?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}

/** Every setting of a schema by its path, with its default and its bounds. */
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

test("the page has each setting and each variable, and nothing else", () => {
  const variables = [...Object.keys(environmentSchema.shape), "<SOURCE>_WEBHOOK_SECRET"];
  const names = [...ofConfig, ...ofSource].map(([name]) => name);
  expect([...rows.keys()].toSorted()).toEqual([...names, ...variables].toSorted());
});

test("each setting and each variable has its default, its bounds, and its values", () => {
  const problems: string[] = [];
  for (const [name, shape] of [...ofConfig, ...ofSource]) {
    const { default: wanted, minimum, maximum } = shape;
    const [given = "", bounds = ""] = (rows.get(name) ?? []).map(numberOf);
    const values = shape.type === "boolean" ? ["true", "false"] : (shape.enum ?? []);
    const list = values.map((value) => `\`${value}\``).join(", ");
    if (list !== "" && bounds !== list) problems.push(`${name}: values ${bounds}, and not ${list}`);
    const hasDefault = ["string", "number", "boolean"].includes(typeof wanted);
    const isRight = hasDefault ? given === `\`${String(wanted)}\`` : !given.startsWith("`");
    if (!isRight) problems.push(`${name}: default ${given}, and not ${String(wanted)}`);
    if (minimum === undefined) continue;
    const isOpen = maximum === Number.MAX_SAFE_INTEGER;
    const limits = isOpen ? `from ${minimum}` : `${minimum} to ${maximum}`;
    if (bounds !== limits) problems.push(`${name}: bounds ${bounds}, and not ${limits}`);
  }
  for (const [name, value] of Object.entries(environmentSchema.parse({}))) {
    const given = numberOf(rows.get(name)?.[0] ?? "");
    if (given !== `\`${String(value)}\``) problems.push(`${name}: ${given}, and not ${value}`);
  }
  expect(problems).toEqual([]);
});

/** Long numbers are written in groups of three digits. */
function numberOf(text: string): string {
  return text.replaceAll(/(?<=\d)[,_](?=\d{3})/g, "");
}
