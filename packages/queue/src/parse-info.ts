/** What Redis says in INFO, by name. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).map((line) => line.split(":", 2));
  return new Map(pairs.flatMap(([name, value]) => (name && value ? [[name, value]] : [])));
}
