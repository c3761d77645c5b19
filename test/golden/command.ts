import { millrace } from "../support/run-in-process.ts";

export async function commands(): Promise<string[]> {
  const { stdout } = await millrace(["--help"]);
  const names = [...section(stdout, "Commands").matchAll(/^ {2}([\w-]+)/gm)].map(
    ([, name]) => name,
  );
  const lines = [...flags("millrace", stdout)];
  for (const name of names) {
    if (name === undefined || name === "help") continue;
    const help = (await millrace([name, "--help"])).stdout;
    const usage = /^Usage: millrace [\w-]+(?: \[options\])?(.*)$/m.exec(help)?.[1] ?? "";
    lines.push(`millrace ${name}${usage}`, ...flags(`millrace ${name}`, help));
  }
  return lines;
}

function flags(command: string, help: string): string[] {
  const entries = section(help, "Options").split(/\n(?= {2}-)/);
  return entries.flatMap((entry) => {
    const flag = /^ {2}((?:-\w, )?--[\w-]+)( [<[][^ ]+)?/.exec(entry);
    if (flag === null) return [];
    const text = entry.replaceAll(/\s+/g, " ");
    const choices = /\(choices: ([^)]+?)(?:, default: [^)]*)?\)/.exec(text)?.[1];
    const value = flag[2] === undefined ? "" : flag[2].startsWith(" [") ? " []" : " <>";
    return [`${command} ${flag[1]}${value}${choices === undefined ? "" : ` ${choices}`}`];
  });
}

function section(help: string, title: string): string {
  return new RegExp(`^${title}:\\n((?: {2}.*\\n)+)`, "m").exec(`${help}\n`)?.[1] ?? "";
}

export async function exitCodes(env: Readonly<Record<string, string>>): Promise<string[]> {
  const away = { ...env, DATABASE_URL: "postgres://127.0.0.1:1/none" };
  const lines: readonly (readonly [args: string, env: Readonly<Record<string, string>>])[] = [
    ["--version", {}],
    ["--help", {}],
    ["send --help", {}],
    ["", {}],
    ["strat", {}],
    ["send", {}],
    ["send acme --cuont 2", {}],
    ["events --status done", {}],
    ["send stranger", env],
    ["events", env],
    ["events acme evt_none_1", env],
    ["events acme evt_fails_1 --json", env],
    ["retry", env],
    ["retry acme evt_works_1", env],
    ["retry acme evt_none_1", env],
    ["retry --source acme --type test.none --dry-run", env],
    ["replay acme evt_works_1", env],
    ["pause acme", env],
    ["resume acme", env],
    ["pause stranger", env],
    ["migrate --check", env],
    ["doctor", { ...env, MILLRACE_CONFIG: "/nowhere.ts" }],
    ["doctor", away],
    ["events", away],
    ["completion tcsh", {}],
  ];
  const told: string[] = [];
  for (const [args, given] of lines) {
    const { code } = await millrace(args === "" ? [] : args.split(" "), { env: given });
    told.push(`${code} millrace ${args}${given === away ? ", without a database" : ""}`);
  }
  return told;
}
