import { matchesType, type Config, type Handler } from "@millrace/core";
import { LATEST_EVENTS, latestTypes, type createPool } from "@millrace/ledger";
import { nearest } from "./nearest.ts";
import { checkIfAny, note, type Check } from "./report.ts";

/** A type that a handler names, and that nobody else knows. */
export interface StrangeType {
  readonly sources: readonly string[];
  readonly type: string;
  /** The one that it may be meant to be. */
  readonly nearest: string | undefined;
}

/** Whether handlers name types that their sources do not list, and that have not come lately. Only where some do. */
export function checkTypes(
  pool: ReturnType<typeof createPool>,
  { config, handlers }: { readonly config: Config; readonly handlers: readonly Handler[] },
): Promise<readonly Check[]> {
  return checkIfAny("event types", async () => {
    const strange = strangeTypes(handlers, config.sources, await latestTypes(pool));
    if (strange.length === 0) return undefined;
    const names = strange.map(({ sources, type, nearest: meant }) => {
      return `${sources.join("|")} ${type}${meant === undefined ? "" : ` (${meant}?)`}`;
    });
    return note(
      `handlers name types that are on no list and in none of the latest ${LATEST_EVENTS.toLocaleString("en")} events: ${names.join(", ")}`,
      "Correct the type in `on`; if it is right, add it to `types` of the source",
    );
  });
}

/**
 * The types of `on` that none of the handler's sources has, as its provider and its options list them, or as it has sent
 * them. Where one of them lists nothing and has sent nothing, every type may be right.
 *
 * @internal
 */
export function strangeTypes(
  handlers: readonly Handler[],
  sources: Config["sources"],
  sent: ReadonlyMap<string, readonly string[]>,
): StrangeType[] {
  const known = new Map(
    Object.entries(sources).map(([name, { provider, options }]) => [
      name,
      [...(provider.types ?? []), ...(options.types ?? []), ...(sent.get(name) ?? [])],
    ]),
  );
  return handlers.flatMap(({ sources: named, types }) => {
    const lists = (named.includes("*") ? [...known.keys()] : named).map(
      (name) => known.get(name) ?? [],
    );
    if (lists.some((list) => list.length === 0)) return [];
    const all = lists.flat();
    return types
      .filter((pattern) => !all.some((type) => matchesType(type, pattern)))
      .map((type) => ({ sources: named, type, nearest: nearest(type, all) }));
  });
}
