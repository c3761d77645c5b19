export type Exported = ReturnType<typeof readExported>;

export function readExported(texts: readonly string[]) {
  const names = new Set<string>();
  const labels = new Map<string, Map<string, Set<string>>>();
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    const [, declared, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    // A counter that nothing has counted yet is declared, and has no sample.
    if (declared !== undefined) for (const name of samplesOf(declared, type)) names.add(name);
    const [, name, pairs = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const seen = labels.get(name) ?? new Map<string, Set<string>>();
    labels.set(name, seen);
    for (const [, label = "", value = ""] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      seen.set(label, (seen.get(label) ?? new Set()).add(value));
    }
  }
  return { names, labels };
}

function samplesOf(name: string, type: string | undefined): string[] {
  if (type !== "histogram") return [name];
  return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
}
