import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Expression {
  readonly selectors: readonly Selector[];
  readonly grouping: readonly string[];
}

/** By Prometheus' own grammar. @throws for an expression that Prometheus would not read. */
export function parsePromql(text: string): Expression {
  const textOf = (node: SyntaxNode | null) => (node === null ? "" : text.slice(node.from, node.to));
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  parser.parse(text).iterate({
    enter: ({ type, node }) => {
      if (type.isError) throw new Error(`Cannot read the expression at ${node.from}: ${text}`);
      if (type.name === "VectorSelector") selectors.push(selectorOf(node, textOf));
      if (type.name === "GroupingLabels") {
        grouping.push(...node.getChildren("LabelName").map(textOf));
      }
    },
  });
  return { selectors, grouping };
}

function selectorOf(node: SyntaxNode, textOf: (node: SyntaxNode | null) => string): Selector {
  const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
  return {
    metric: textOf(node.getChild("Identifier")),
    matchers: matchers.map((matcher) => ({
      label: textOf(matcher.getChild("LabelName")),
      operator: textOf(matcher.getChild("MatchOp")),
      value: textOf(matcher.getChild("StringLiteral")).slice(1, -1),
    })),
  };
}
