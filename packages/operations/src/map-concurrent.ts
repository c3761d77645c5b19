import { asError } from "@millrace/core";

export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): Promise<(Result | Error)[]> {
  const outcomes: (Result | Error)[] = Array.from({ length: items.length });
  const left = items.entries();
  const runNext = async (): Promise<void> => {
    for (const [index, item] of left) {
      try {
        outcomes[index] = await work(item);
      } catch (error) {
        outcomes[index] = asError(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, runNext));
  return outcomes;
}
