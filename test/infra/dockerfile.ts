export interface Step {
  readonly name: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly text: string;
  readonly args: readonly string[];
}

export interface Stage {
  readonly name: string | undefined;
  readonly steps: readonly Step[];
}

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { name: string | undefined; steps: Step[] }[] = [];
  for (const line of instructionsOf(text)) {
    const step = stepOf(line);
    const [, as, name] = step.args;
    if (step.name === "FROM") stages.push({ name: as === "AS" ? name : undefined, steps: [] });
    else stages.at(-1)?.steps.push(step);
  }
  return stages;
}

export function lastStep(stage: Stage | undefined, name: string): Step | undefined {
  return stage?.steps.findLast((step) => step.name === name);
}

function instructionsOf(text: string): string[] {
  const lines = text.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  const joined = lines.join("\n").replaceAll(/\\\n\s*/g, "");
  return joined.split("\n").filter((line) => line.trim() !== "");
}

function stepOf(line: string): Step {
  const [, name = "", flags = "", text = ""] = /^(\S+)((?:\s+--\S+)*)\s*(.*)$/.exec(line) ?? [];
  const pairs = [...flags.matchAll(/--([^\s=]+)(?:=(\S+))?/g)];
  return {
    name: name.toUpperCase(),
    flags: Object.fromEntries(pairs.map(([, flag = "", value = ""]) => [flag, value])),
    text,
    args: wordsOf(text),
  };
}

function wordsOf(text: string): readonly string[] {
  const json = text.replace(/^CMD\s+/, "");
  return json.startsWith("[") ? (JSON.parse(json) as string[]) : text.split(/\s+/);
}
