export type Methods<Context, Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    context: Context,
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Result
    : never;
};

export function bind<
  Context,
  Functions extends Record<string, (context: Context, ...args: never[]) => unknown>,
>(context: Context, functions: Functions): Methods<Context, Functions> {
  const methods = Object.entries(functions).map(([name, run]) => [
    name,
    run.bind(undefined, context),
  ]);
  return Object.fromEntries(methods) as Methods<Context, Functions>;
}
