import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runCommand } from "./run-command.mjs";

/**
 * The pages that are made from sources of truth: `--help`, the OpenAPI document, the metrics, the
 * view, the sentences that an editor shows.
 *
 * @returns {Promise<[path: string, text: string][]>}
 */
export async function referencePages(root) {
  return [
    ["reference/command.md", await commandPage(root)],
    ["reference/http-api.md", await apiPage(root)],
    ["reference/metrics.md", metricsPage(root)],
    ["reference/sql-view.md", await viewPage(root)],
    ...(await typeScriptPages(root)),
  ];
}

async function commandPage(root) {
  const bin = join(root, "apps", "cli", "bin", "millrace.mjs");
  const help = async (...args) => {
    const { code, output } = await runCommand(process.execPath, [bin, "help", ...args], {
      cwd: root,
      capture: true,
    });
    if (code !== 0) throw new Error(`Cannot read the help of ${args.join(" ")}: ${output}`);
    return `\`\`\`\n${output.trim()}\n\`\`\`\n`;
  };
  const whole = await help();
  const [, list = ""] = /^Commands:\n([\s\S]*?)\n\n/m.exec(whole) ?? [];
  const names = [...list.matchAll(/^ {2}(\w[\w-]*)/gm)].map(([, name = ""]) => name);
  const sections = [];
  for (const name of names.filter((each) => each !== "help")) {
    sections.push(`## ${name}\n\n${await help(name)}`);
  }
  return `# The command\n\nAs \`millrace help\` prints it.\n\n${whole}\n${sections.join("\n")}`;
}

async function apiPage(root) {
  const contract = join(root, "packages", "api-contract", "dist", "index.js");
  const { createDocument } = await import(pathToFileURL(contract).href);
  const { paths } = createDocument();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(method, path, operation)),
  );
  return `# The HTTP API\n\nMade from the OpenAPI document, which the dashboard serves at \`GET /api/openapi.json\`.\n[The API](/api.md#the-api) has examples.\n\n${operations.join("\n")}`;
}

function section(method, path, { summary, description, parameters = [], responses = {} }) {
  const rows = parameters.map(
    ({ name, in: where, required, schema, description: text }) =>
      `| \`${name}\` | ${where} | ${required ? "yes" : "no"} | ${cell(text ?? schema?.description)} |`,
  );
  const table = ["| parameter | in | required | meaning |", "| --- | --- | --- | --- |", ...rows];
  const answers = Object.entries(responses).map(
    ([status, answer]) => `- ${status}: ${cell(answer.description)}`,
  );
  const parts = [
    `## \`${method.toUpperCase()} ${path}\``,
    cell(summary ?? description),
    rows.length > 0 ? table.join("\n") : "",
    answers.join("\n"),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** Braces and angles are Vue's in a page. */
function cell(text = "") {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;");
}

function metricsPage(root) {
  const folders = ["apps", "packages"].map((name) => join(root, name));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map(String)
      .filter((name) => /\/src\/.*\.ts$/.test(name) && !name.includes(".test."))
      .filter((name) => !name.includes("node_modules"))
      .map((name) => join(folder, name)),
  );
  const found = new Map();
  for (const file of files) {
    // The ingress names some by their end alone.
    const metrics = /(ofEachSource\(\s*)?"((?:millrace_)?[a-z_]+)",\s*"((?:[^"\\]|\\.)+)"/g;
    for (const [, isEnd, name = "", help] of readFileSync(file, "utf8").matchAll(metrics)) {
      if (isEnd !== undefined) found.set(`millrace_ingress_queue_${name}`, help);
      else if (name.startsWith("millrace_")) found.set(name, help);
    }
  }
  const alerts = readFileSync(join(root, "infra", "prometheus", "alerts.yml"), "utf8");
  const watched = alerts.match(/millrace_[a-z_]+?(?=(?:_bucket|_count|_sum)?\b[^a-z_])/g) ?? [];
  const missing = watched.filter((name) => !found.has(name));
  if (missing.length > 0) throw new Error(`Cannot find the help of ${missing.join(", ")}`);
  const rows = [...found]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, help]) => `| \`${name}\` | ${cell(help)} |`);
  return `# Metrics\n\nEvery metric of \`GET /metrics\`, with the help that it has there. [Monitoring](/monitoring.md) says\nhow to collect them, [alerts](/monitoring.md#alerts-and-metrics) what to watch.\n\n| metric | meaning |\n| --- | --- |\n${rows.join("\n")}\n`;
}

const COLUMNS = {
  type: "The sender's name of what happened.",
  payload: "The body as `jsonb`. Null for a form, and when the body was dropped.",
  last_error_code: "A code of [errors](/errors.md).",
};

/** The columns are the view's, the sentences those that the API has for them. */
async function viewPage(root) {
  const contract = join(root, "packages", "api-contract", "dist", "index.js");
  const { eventRow } = await import(pathToFileURL(contract).href);
  const { properties } = eventRow.toJSONSchema();
  const folder = join(root, "packages", "ledger", "migrations");
  const migrations = readdirSync(folder).toSorted();
  const sql = migrations.map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
  const view = /VIEW millrace\.webhook_events AS\s+SELECT([\s\S]*?)\nFROM millrace\.events e/g;
  const [, list = ""] = [...sql.matchAll(view)].at(-1) ?? [];
  const names = list.replace(/\(SELECT[\s\S]*?\) AS /, "e.").matchAll(/\be\.(\w+)/g);
  const rows = [...names].map(([, name = ""]) => {
    const shape = properties[name];
    const values = shape?.enum ?? shape?.anyOf?.[0]?.enum;
    const listed = values?.map((value) => `\`${value}\``).join(", ");
    const text = COLUMNS[name] ?? shape?.description ?? shape?.anyOf?.[0]?.description;
    const meaning = [text, listed].filter((part) => part !== undefined).join(" ");
    if (meaning === "") throw new Error(`Cannot find the meaning of the column ${name}`);
    return `| \`${name}\` | ${cell(meaning)} |`;
  });
  return `# The SQL view webhook_events\n\nOne row for each generation of an event, to read with \`psql\`, a BI tool, or your own code. Its\ncolumns [stay compatible](/upgrading.md#what-stays-compatible); the tables behind it are internal.\n\n\`\`\`sql\nSELECT event_id, last_error FROM webhook_events\nWHERE source = 'stripe' AND status = 'failed' ORDER BY recorded_at DESC LIMIT 20;\n\`\`\`\n\n| column | meaning |\n| --- | --- |\n${rows.join("\n")}\n\nThe view is in the schema \`millrace\`, and in \`public\` unless the name was taken there.\n`;
}

/** TypeDoc's pages of the built package, which become pages of the site. */
const TYPES = {
  "index/README.md": ["typescript.md", "# The TypeScript API: millrace"],
  "index/namespaces/senders.md": ["typescript-senders.md", "# The TypeScript API: senders"],
  "testing.md": ["typescript-testing.md", "# The TypeScript API: millrace/testing"],
};

/** @returns {Promise<[path: string, text: string][]>} */
async function typeScriptPages(root) {
  const site = join(root, "infra", "site");
  const out = mkdtempSync(join(tmpdir(), "millrace-types-"));
  const typedoc = join(site, "node_modules", ".bin", "typedoc");
  const made = await runCommand(typedoc, ["--out", out], { cwd: site, capture: true });
  if (made.code !== 0) throw new Error(`Cannot read the types: ${made.output}`);
  const core = join(root, "packages", "core", "dist", "index.js");
  const { ERROR_CODES } = await import(pathToFileURL(core).href);
  const codes = Object.keys(ERROR_CODES).map((code) => `\`"${code}"\``);
  const pages = Object.entries(TYPES).map(([file, [name = "", title]]) => {
    const text = readFileSync(join(out, file), "utf8")
      .replace(/^# .*/, () => title ?? "")
      .replaceAll(codes.join(" \\| "), "`ErrorCode`")
      .replaceAll(/\]\((?:\.\.\/)*(?:index\/)?((?:namespaces\/)?\w+\.md)/g, (_, link) => {
        const key = link === "README.md" || link.startsWith("namespaces/") ? `index/${link}` : link;
        return `](/reference/${TYPES[key]?.[0] ?? link}`;
      });
    return /** @type {[string, string]} */ ([`reference/${name}`, text]);
  });
  rmSync(out, { recursive: true });
  return pages;
}
