import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { runFuzz } from "./run.ts";

const HELP = `npm run fuzz -- [options]

Sends changed, cut, doubled and random requests to a real ingress over raw sockets, and checks that each
is answered or ended within 3 s, that nothing is accepted that was not signed, and that the ingress
is afterwards as it was. \`npm test\` sends two thousand of them, with a seed of its own.

  --minutes M   how long; default 1
  --seed N      the seed of what is sent; default: drawn, and printed
  --help
`;
const LIMIT_MS = 3_000;

const print = (text: string) => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0 && seed > 0)) throw new Error("--minutes and --seed are positive numbers");
  const broken = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => broken.abort());

  const folder = await mkdtemp(join(tmpdir(), "millrace-fuzz-"));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
  try {
    print(`Seed ${seed}, for ${minutes} min (again by: npm run fuzz -- --seed ${seed})`);
    const options = {
      seed,
      length: { ms: minutes * 60_000 },
      limitMs: LIMIT_MS,
      signal: broken.signal,
    };
    const report = await runFuzz(postgres.url, options);
    const statuses = Object.entries(report.answers).map(
      ([status, count]) => `${count} × ${status}`,
    );
    print(`${report.cases} cases, answered ${statuses.join(", ")}; ${report.accepted} accepted`);
    for (const finding of report.findings) print(`\n${finding}`);
    print(`${report.findings.length} findings`);
    return broken.signal.aborted ? 130 : report.findings.length === 0 ? 0 : 1;
  } finally {
    await postgres.stop("immediate");
    await rm(folder, { recursive: true, force: true });
  }
}

process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }),
);
