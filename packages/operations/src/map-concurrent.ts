import { asError } from "@millrace/core";
import pMap from "p-map";

export function mapConcurrent<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): Promise<(Result | Error)[]> {
  return pMap(items, (item) => work(item).catch(asError), { concurrency });
}
