/** The value of a line of a role's metrics, by how the line begins; undefined without such a line. */
export async function readMetric(url: string, beginning: string): Promise<number | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(beginning));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

/** The bytes that a role's process holds, on its heap and in buffers. */
export async function heldBytes(url: string): Promise<number> {
  const [heap = 0, external = 0] = await Promise.all([
    readMetric(url, "nodejs_heap_size_used_bytes"),
    readMetric(url, "nodejs_external_memory_bytes"),
  ]);
  return heap + external;
}
