import { parseSync } from "oxc-parser";

/** One small change of a file that may still run. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  /** The text that stands there, in one line. */
  readonly was: string;
  readonly start: number;
  readonly end: number;
  /** What stands there in place of it, for the number that switches the mutant on. */
  readonly switched: (text: string, number: number) => string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A place in the tree: the node and what it stands in, the nearest first. */
interface Place {
  readonly node: Node;
  readonly above: readonly Node[];
}

type Operator = (place: Place) => { operator: string; switched: Mutant["switched"] } | undefined;

const FLIPPED: Readonly<Record<string, string>> = {
  ...{ "===": "!==", "!==": "===", "==": "!=", "!=": "==" },
  ...{ "<": ">=", ">=": "<", ">": "<=", "<=": ">" },
};
const BOUNDARY: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const OTHER: Readonly<Record<string, string>> = { "&&": "||", "||": "&&" };
/** Larger numbers are mostly times and sizes, where one more or less is no mistake. */
const COUNTED_MAX = 16;
const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

const either = (changed: string, text: string, number: number): string =>
  `(__mutant(${number}) ? (${changed}) : (${text}))`;

/** Every mutant that the operators make of a file's functions, in the order of the text. */
export function findMutants(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`Cannot parse ${file}: ${errors[0]?.message}`);
  const mutants: Mutant[] = [];
  visit(program as unknown as Node, [], (place) => {
    const { node, above } = place;
    if (!above.some(({ type }) => FUNCTION.test(type))) return;
    for (const operator of OPERATORS) {
      const made = operator(place);
      if (made === undefined) continue;
      const was = text.slice(node.start, node.end).replaceAll(/\s+/g, " ").slice(0, 80);
      const line = text.slice(0, node.start).split("\n").length;
      mutants.push({ file, line, was, start: node.start, end: node.end, ...made });
    }
  });
  return mutants.filter(({ was }) => !was.startsWith("failpoint("));
}

function visit(node: Node, above: readonly Node[], hear: (place: Place) => void): void {
  if (node.type.startsWith("TS") && !/^TS(As|NonNull|Satisfies)/.test(node.type)) return;
  hear({ node, above });
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null && "type" in child) {
        visit(child as Node, [node, ...above], hear);
      }
    }
  }
}

/** Replaces the operator between two operands. */
const infix =
  (operator: string, table: Readonly<Record<string, string>>, type: string): Operator =>
  ({ node }) => {
    const other = node.type === type ? table[String(node["operator"])] : undefined;
    if (other === undefined) return undefined;
    const [left, right] = [node["left"] as Node, node["right"] as Node];
    return {
      operator,
      switched: (text, number) => {
        const [a, b] = [left, right].map(({ start, end }) =>
          text.slice(start - node.start, end - node.start),
        );
        return either(`(${a}) ${other} (${b})`, text, number);
      },
    };
  };

const negatedCondition: Operator = ({ node, above: [parent] }) => {
  if (parent?.["test"] !== node || parent.type === "SwitchCase") return undefined;
  return {
    operator: "negated condition",
    switched: (text, number) => either(`!(${text})`, text, number),
  };
};

const literal: Operator = ({ node, above: [parent] }) => {
  const isKey = parent?.["key"] === node && parent["computed"] !== true;
  const { value } = node;
  if (node.type !== "Literal" || isKey) return undefined;
  if (typeof value === "boolean") return swapped("swapped boolean", String(!value));
  const isCount = typeof value === "number" && Number.isInteger(value) && value <= COUNTED_MAX;
  return isCount ? swapped("one more", String(value + 1)) : undefined;
};

const swapped = (operator: string, changed: string): ReturnType<Operator> => ({
  operator,
  switched: (text, number) => either(changed, text, number),
});

const emptiedReturn: Operator = ({ node, above: [parent] }) => {
  const operator = "emptied return";
  if (node.type === "ReturnStatement" && node["argument"] !== null) {
    return {
      operator,
      switched: (text, number) => `{ if (__mutant(${number})) return undefined; ${text} }`,
    };
  }
  const isBody = parent?.type === "ArrowFunctionExpression" && parent["body"] === node;
  if (!isBody || node.type === "BlockStatement") return undefined;
  return { operator, switched: (text, number) => either("undefined", text, number) };
};

const removedStatement: Operator = ({ node }) => {
  if (node.type !== "ExpressionStatement" || holds(node, "AwaitExpression")) return undefined;
  return {
    operator: "removed statement",
    switched: (text, number) => `{ if (!__mutant(${number})) { ${text} } }`,
  };
};

const removedCall: Operator = ({ node, above: [parent] }) => {
  const call = node.type === "ChainExpression" ? (node["expression"] as Node) : node;
  if (call.type !== "CallExpression" || parent === undefined) return undefined;
  // What goes on with the answer would only fail, and a call as a statement is one that is removed.
  const isLink = parent["object"] === node || parent["callee"] === node;
  const isStatement = parent.type === "ExpressionStatement" || parent.type === "ChainExpression";
  if (isLink || isStatement || (call["callee"] as Node).type === "Super") return undefined;
  return {
    operator: "removed call",
    switched: (text, number) => either("undefined", text, number),
  };
};

const OPERATORS: readonly Operator[] = [
  infix("flipped comparison", FLIPPED, "BinaryExpression"),
  infix("moved boundary", BOUNDARY, "BinaryExpression"),
  infix("swapped and, or", OTHER, "LogicalExpression"),
  negatedCondition,
  literal,
  emptiedReturn,
  removedStatement,
  removedCall,
];

function holds(node: Node, type: string): boolean {
  let found = false;
  visit(node, [], (place) => (found ||= place.node.type === type));
  return found;
}
