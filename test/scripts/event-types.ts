import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** The ways to derive a type from another. */
const DERIVING = new Set(["Pick", "Omit", "Partial", "Required", "Extract", "Exclude"]);
const EVENT_ID = new Set(["eventId", "event_id"]);

/** The names of the types for an event or its key, and of records that have an event's id. */
export interface Listed {
  readonly events: readonly string[];
  readonly records: readonly string[];
}

/**
 * Lists the types of the product's source that have an event's id: by name, or `anonymous in FILE` for a
 * shape that stands in a signature. A type that extends a listed one counts too, and one that picks from
 * a type for an event or adds to it. One that only holds an event in a field does not.
 */
export function eventTypes(root: string, listed: Listed): Set<string> {
  const found = new Set<string>();
  for (const file of sourcesOf(root)) {
    const { program, errors } = parseSync(file, readFileSync(join(root, file), "utf8"));
    if (errors.length > 0) throw new Error(`Cannot parse ${file}: ${errors[0]?.message}`);
    visit(program as unknown as Node, undefined, (node, name) => {
      if (isEventType(node, listed)) found.add(name ?? `anonymous in ${file}`);
    });
  }
  return found;
}

function sourcesOf(root: string): string[] {
  const listed = execFileSync("git", ["ls-files", "--", "packages", "apps"], {
    cwd: root,
    encoding: "utf8",
  });
  // Helpers of our own tests are no product; `millrace/testing` is.
  const isProduct = (path: string): boolean =>
    /\/src\/.*\.tsx?$/.test(path) &&
    !/\.test\.tsx?$/.test(path) &&
    (!path.includes("/testing/") || path.startsWith("packages/millrace/"));
  return listed.split("\n").filter(isProduct);
}

/** Visits a tree, with the name of the type that each node is declared in. */
function visit(
  node: Node,
  name: string | undefined,
  see: (node: Node, name: string | undefined) => void,
): void {
  const isDeclaration = /^TS(Interface|TypeAlias)Declaration$/.test(node.type);
  const inside = isDeclaration ? nameOf(node["id"]) : name;
  see(node, inside);
  // What follows `satisfies` is no type of the value.
  const children =
    node.type === "TSSatisfiesExpression" ? nodesIn(node["expression"]) : childrenOf(node);
  for (const child of children) visit(child, inside, see);
}

function isEventType(node: Node, { events, records }: Listed): boolean {
  const isEvent = (name: unknown): boolean => events.includes(nameOf(name) ?? "");
  switch (node.type) {
    case "TSInterfaceBody":
      return hasEventId(node["body"]);
    case "TSTypeLiteral":
      return hasEventId(node["members"]);
    case "TSInterfaceHeritage":
      return [...events, ...records].includes(nameOf(node["expression"]) ?? "");
    case "TSIntersectionType":
      return nodesIn(node["types"]).some((type) => isEvent(type["typeName"]));
    case "TSTypeReference":
      return DERIVING.has(nameOf(node["typeName"]) ?? "") && isEvent(firstParameter(node));
    default:
      return false;
  }
}

const hasEventId = (members: unknown): boolean =>
  nodesIn(members).some(
    (member) => member.type === "TSPropertySignature" && EVENT_ID.has(nameOf(member["key"]) ?? ""),
  );

/** The name of `EventKey` in `Pick<EventKey, "source">`. */
function firstParameter(node: Node): unknown {
  const [first] = childrenOf(node)
    .filter(({ type }) => type === "TSTypeParameterInstantiation")
    .flatMap((given) => nodesIn(given["params"]));
  return first?.["typeName"];
}

const childrenOf = (node: Node): Node[] => Object.values(node).flatMap(nodesIn);

const nodesIn = (value: unknown): Node[] =>
  (Array.isArray(value) ? value : [value]).filter(
    (one): one is Node => typeof one === "object" && one !== null && "type" in one,
  );

const nameOf = (node: unknown): string | undefined =>
  nodesIn(node)
    .map((one) => one["name"])
    .find((name) => typeof name === "string");
