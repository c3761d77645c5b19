const SAMPLE = /^```(?:ts|sql)\n(?:\/\/|--) (\S+)\n([\s\S]*?)^```$/gm;

/** The code blocks of a page that begin with the name of their file, by that name. */
export function samplesOf(page: string): ReadonlyMap<string, string> {
  return new Map([...page.matchAll(SAMPLE)].map(([, name = "", text = ""]) => [name, text]));
}
