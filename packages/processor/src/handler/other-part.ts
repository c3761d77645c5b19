/** Adds to a context what the other part of a handler has: to read it says where it exists. */
export function withOtherPart<Context extends object>(
  context: Context,
  here: "write" | "call",
): Context {
  return Object.setPrototypeOf(context, here === "write" ? OF_CALL : OF_WRITE) as Context;
}

// Of a prototype, so that a copy or a log line of the context reads none of them.
const OF_CALL = refusing("write", "call", ["once"]);
const OF_WRITE = refusing("call", "write", ["tx", "emit"]);

function refusing(here: string, there: string, names: readonly string[]): object {
  const read = (name: string) => () => {
    throw new TypeError(
      `Cannot use ${name} in ${here}: it exists in ${there} alone. Write on(source, type, { ${there}: async (event, { ${name} }) => { ... } })`,
    );
  };
  return Object.defineProperties(
    {},
    Object.fromEntries(names.map((name) => [name, { get: read(name) }])),
  );
}
