import { runCommand, type MillraceProcess } from "../support/millrace-process.ts";
import { until } from "../support/until.ts";

export const PRINTING_FAILPOINTS = {
  NODE_OPTIONS: `--import ${new URL("failpoints.mjs", import.meta.url).href}`,
};

export const failpointsIn = (output: string): string[] =>
  [...output.matchAll(/^FAILPOINT (\S+)$/gm)].map(([, name = ""]) => name);

/** The failpoints that a role reaches from now on, up to `last`. */
export async function reachedBy(
  role: MillraceProcess,
  { act, last, which = /./ }: { act: () => Promise<unknown>; last: string; which?: RegExp },
): Promise<string[]> {
  const from = role.output().length;
  await act();
  const reached = () => failpointsIn(role.output().slice(from));
  await until(() => reached().includes(last), { what: `failpoint ${last} reached` });
  return reached().filter((name) => which.test(name));
}

export async function reachedByCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { code, output } = await runCommand(args, env);
  if (code !== 0) throw new Error(`millrace ${args.join(" ")} exited with ${code}: ${output}`);
  return failpointsIn(output);
}
