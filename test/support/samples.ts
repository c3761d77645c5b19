const SAMPLE = /^```(?:ts|sql)\n(?:\/\/|--) (\S+)\n([\s\S]*?)^```$/gm;

export function samplesOf(page: string): ReadonlyMap<string, string> {
  return new Map([...page.matchAll(SAMPLE)].map(([, name = "", text = ""]) => [name, text]));
}

export function projectsOf(page: string): readonly ReadonlyMap<string, string>[] {
  const projects: Map<string, string>[] = [new Map()];
  for (const [, name = "", text = ""] of page.matchAll(SAMPLE)) {
    if (projects.at(-1)?.has(name) === true) projects.push(new Map());
    projects.at(-1)?.set(name, text);
  }
  return projects;
}
