/**
 * Does something with each item, at most `lanes` at once: one outcome an item, in order. What is thrown
 * is that item's outcome and stops no other.
 */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<Result>,
): Promise<(Result | Error)[]> {
  const outcomes: (Result | Error)[] = Array.from({ length: items.length });
  const left = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of left) {
      try {
        outcomes[index] = await work(item);
      } catch (error) {
        outcomes[index] = error instanceof Error ? error : new Error(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return outcomes;
}
