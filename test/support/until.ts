/** @throws after `withinMs` (60 s), with the last value or error of the condition. */
export async function until<T>(
  condition: () => Promise<T> | T,
  options: { withinMs?: number; what?: string } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = Date.now() + (options.withinMs ?? 60_000);
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const value = await condition();
      if (value !== false && value !== undefined && value !== null) {
        return value as Exclude<T, false | null | undefined>;
      }
      last = value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Cannot see ${options.what ?? "the condition"} hold: last ${String(last)}`, {
    cause: last,
  });
}
