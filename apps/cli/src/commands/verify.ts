import { gunzipSync } from "node:zlib";
import { withUrl } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, readInput, readSettings } from "../context.ts";
import { findSecrets, findSource } from "../find-source.ts";
import { tenantOption } from "../parse-option.ts";
import { printable } from "../terminal-text.ts";
import { diagnose } from "../verify/diagnose.ts";
import { readRequest } from "../verify/read-request.ts";

const HELP = `
The file holds the request as it came: raw HTTP/1.1, or JSON with method, url, headers, and body. It is
compared with the secrets of all sources, with other encodings of the secret, with other forms of
the URL, and with the bodies that a proxy may have rewritten. No secret is printed, and no database
is needed.

Exit codes: 0 valid, 1 not valid, 2 usage error.

Examples:
  $ millrace verify --source stripe --request request.http
  $ millrace verify --source stripe --request request.json --json`;

interface VerifyOptions {
  readonly source: string;
  readonly tenant?: string;
  readonly request: string;
  readonly json?: true;
}

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("verify")
    .description("say what is wrong with the signature of a saved request")
    .requiredOption("--source <name>", "the source that it was sent to")
    .addOption(tenantOption("the tenant in its URL"))
    .requiredOption("--request <file>", "file with the request, or - for standard input")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action(async (options: VerifyOptions) => {
      context.setExitCode(await runVerify(context, options));
    });
}

async function runVerify(
  context: CliContext,
  { source, tenant, request, json }: VerifyOptions,
): Promise<number> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  const asked = findSource(config, source, "verify for", tenant);
  const from = { env: context.env, dataDir: settings.dataDir };
  const { body, ...head } = readRequest(await readInput(request, context));
  const isInflated = asked.provider.inflate === "inflated" && body[0] === GZIP;
  const { valid, code, failure, sentences } = await diagnose({
    ...{ name: source, source: asked, sources: withUrl(config.sources) },
    secrets: await findSecrets(config, source, from, tenant),
    delivery: { ...head, body: isInflated ? gunzipSync(body) : body, receivedAtMs: Date.now() },
  });
  const verdict = valid ? "valid" : `not valid (${failure?.reason ?? code})`;
  const { reason = null, seconds = null } = failure ?? {};
  const text =
    json === true
      ? JSON.stringify({ source, valid, code: code ?? null, reason, seconds, sentences })
      : [`${source}: ${verdict}`, ...sentences.map(printable)].join("\n");
  context.stdout.write(`${text}\n`);
  return valid ? 0 : 1;
}

/** The first byte of gzip (RFC 1952), which no JSON begins with. */
const GZIP = 0x1f;
