import { gunzipSync } from "node:zlib";
import { withUrl, MillraceError, type Delivery } from "@millrace/core";
import { reasonOf } from "@millrace/service";
import type { Command } from "commander";
import { z } from "zod";
import { type CliContext, readInput } from "../context.ts";
import { findReceiver } from "../find-source.ts";
import { tenantOption } from "../parse-option.ts";
import { createPrinter, printable } from "../terminal-text.ts";
import { diagnose } from "../verify/diagnose.ts";

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

async function runVerify(context: CliContext, { request, json, ...asked }: VerifyOptions) {
  const { source: name } = asked;
  const { config, source, secrets } = await findReceiver(context, asked, "verify for");
  const inflates = source.provider.inflate === "inflated";
  const saved = readRequest(await readInput(request, context), { inflates });
  const { valid, code, failure, sentences } = await diagnose({
    ...{ name, source, secrets, sources: withUrl(config.sources) },
    delivery: { ...saved, receivedAtMs: Date.now() },
  });
  const verdict = valid ? "valid" : `not valid (${failure?.reason ?? code})`;
  const { reason = null, seconds = null } = failure ?? {};
  createPrinter(
    context,
    json,
  )({
    json: { source: name, valid, code: code ?? null, reason, seconds, sentences },
    text: [`${name}: ${verdict}`, ...sentences.map(printable)].join("\n"),
  });
  return valid ? 0 : 1;
}

/** The first byte of gzip (RFC 1952), which no JSON begins with. */
const GZIP = 0x1f;

const jsonRequest = z.object({
  method: z.string().default("POST"),
  url: z.string().default("/"),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string().default(""),
});

/** HTTP/1.1 as it came, or JSON `{ method, url, headers, body }`. @throws `invalid_request` */
export function readRequest(
  bytes: Buffer,
  { inflates }: { readonly inflates: boolean } = { inflates: false },
): Omit<Delivery, "receivedAtMs"> {
  const isJson = bytes.toString("latin1").trimStart().startsWith("{");
  try {
    const {
      url,
      headers,
      body: sent,
      ...rest
    } = isJson ? readJson(bytes.toString()) : readHttp(bytes);
    const path = url.replace(/^https?:\/\/[^/?]*/, "");
    const body = inflates && sent[0] === GZIP ? gunzipSync(sent) : sent;
    return { ...rest, url: path, headers: Object.fromEntries(new Headers(headers)), body };
  } catch (error) {
    const text = `Cannot read the request: ${reasonOf(error)}`;
    throw new MillraceError("invalid_request", text, { cause: error });
  }
}

function readJson(text: string) {
  const { data } = jsonRequest.safeParse(JSON.parse(text));
  if (data === undefined) throw new Error("it must be { method, url, headers, body }, as text");
  const headers = Object.entries(data.headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return { ...data, headers, body: Buffer.from(data.body) };
}

/** In latin1, as node:http reads a head. */
function readHttp(bytes: Buffer) {
  const [head = ""] = /^[^]*?\r?\n\r?\n/.exec(bytes.toString("latin1")) ?? [];
  const [first = "", ...lines] = head.trimEnd().split(/\r?\n/);
  const [, method, url] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || url === undefined) {
    throw new Error('it must be "POST /webhooks/stripe HTTP/1.1", headers, an empty line, a body');
  }
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1)];
  });
  const found = Object.fromEntries(headers);
  if (found["transfer-encoding"] !== undefined) throw new Error("its body is in chunks");
  const body = bytes.subarray(head.length);
  const length = Number(found["content-length"] ?? body.length);
  if (body.length < length) throw new Error(`its body has ${body.length} of ${length} bytes`);
  // An editor may have written a line end behind it.
  return { method, url, headers, body: body.subarray(0, length) };
}
