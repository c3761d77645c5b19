import type { Handler, HandlerFunction } from "@millrace/core";

/** Finds the handlers of an event, in the order in which they were registered. */
export type Dispatcher = (source: string, type: string) => readonly HandlerFunction[];

/** Sorts handlers by source. `*` among a handler's types hears every type, each event once. */
export function createDispatcher(handlers: readonly Handler[]): Dispatcher {
  const bySource = new Map<string, { types: ReadonlySet<string>; run: HandlerFunction }[]>();
  for (const handler of handlers) {
    const known = bySource.get(handler.source) ?? [];
    known.push({ types: new Set(handler.types), run: handler.run });
    bySource.set(handler.source, known);
  }
  return (source, type) =>
    (bySource.get(source) ?? [])
      .filter(({ types }) => types.has(type) || types.has("*"))
      .map(({ run }) => run);
}
