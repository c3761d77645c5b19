async function readLines(url: string): Promise<readonly string[]> {
  return (await (await fetch(`${url}/metrics`)).text()).split("\n");
}

export async function readMetric(url: string, beginning: string): Promise<number | undefined> {
  const line = (await readLines(url)).find((each) => each.startsWith(beginning));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

export async function metricByLabels(url: string, name: string): Promise<Map<string, number>> {
  const lines = (await readLines(url)).filter((line) => line.startsWith(`${name}{`));
  return new Map(
    lines.map((line) => {
      const labels = /\{(.*)\}/.exec(line)?.[1]?.replace(/,?(role|version|instance)="[^"]*"/g, "");
      return [labels ?? "", Number(line.split(" ").at(-1))];
    }),
  );
}
