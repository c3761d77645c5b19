import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

export type Selector = ReturnType<typeof selectorOf>;

/** By Prometheus' own grammar. @throws for an expression that Prometheus would not read. */
export function parsePromql(text: string) {
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

function selectorOf(node: SyntaxNode, textOf: (node: SyntaxNode | null) => string) {
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
