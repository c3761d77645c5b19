/**
 * Shares the result of a costly call among all who ask within `forMs` milliseconds. A failure is
 * shared by those who wait for it and not remembered.
 */
export function rememberBriefly<T>(forMs: number, call: () => Promise<T>): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly untilMs: number } | undefined;
  return () => {
    if (last !== undefined && last.untilMs > Date.now()) return last.result;
    const result = call();
    const mine = { result, untilMs: Date.now() + forMs };
    last = mine;
    result.catch(() => {
      if (last === mine) last = undefined;
    });
    return result;
  };
}
