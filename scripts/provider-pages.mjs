// Writes docs/providers: a page for each sender, and an index, from the providers and facts.json.
// `npm run providers:pages` after a build; a test compares what is committed.
import { readFileSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../docs/providers/", import.meta.url);

export const FACTS = JSON.parse(readFileSync(new URL("facts.json", FOLDER), "utf8"));

const WRITTEN = "<!-- Written by `npm run providers:pages` from facts.json and the providers. -->";
const NOT_DOCUMENTED = "not documented";

/** The text of each page by its file's name. */
export function pagesOf(senders) {
  const whole = Object.entries(FACTS.senders).map(([name, facts]) => {
    const { provider } = senders[name](facts.options);
    return { name, facts, provider: provider.at?.("https://example.com/") ?? provider };
  });
  const aliases = Object.entries(FACTS.aliases).map(([name, facts]) => ({ name, ...facts }));
  const pages = new Map([["README.md", indexOf(whole, aliases)]]);
  for (const sender of whole) pages.set(`${sender.provider.name}.md`, pageOf(sender));
  return pages;
}

function indexOf(whole, aliases) {
  const linesOf = (isAuthenticatedOnly) =>
    whole
      .filter(({ provider }) => (provider.authenticatedOnly === true) === isAuthenticatedOnly)
      .map(({ facts, name, provider }) => `- [${facts.title}](${provider.name}.md): \`${name}()\``);
  return page("Senders", [
    ...["## Verified", "", ...linesOf(false), ""],
    ...["## Authenticated only", "", "Nothing covers the whole body.", "", ...linesOf(true), ""],
    ...["## Other names of Standard Webhooks", ""],
    ...aliases.map(({ name, title, secret }) => `- ${title}: \`${name}()\`; secret: ${secret}`),
  ]);
}

function pageOf({ name, facts, provider }) {
  const { authenticatedOnly, idIsSigned, types, attemptFields = [], secretPrefix } = provider;
  const options = Object.keys(facts.options ?? {}).join(", ");
  const secret =
    provider.needsSecret === false ? facts.secret : `${facts.secret}; \`<SOURCE>_WEBHOOK_SECRET\``;
  const rows = {
    Config: `\`${name}(${options === "" ? "" : `{ ${options} }`})\``,
    URL: `\`/webhooks/<source>\` of the ingress${provider.signedUrl === undefined ? "" : "; signed, by `publicUrl` or `url`"}`,
    Secret: secretPrefix === undefined ? secret : `${secret}; begins with \`${secretPrefix}\``,
    "Content type": `\`${facts.contentType ?? "application/json"}\``,
    Signed: facts.signed,
    Deliveries: authenticatedOnly === true ? "authenticated only" : "verified",
    "Event ID": `${facts.id}; ${idIsSigned ? "signed" : "unsigned"}`,
    "Event type": types === undefined ? facts.type : `${facts.type}; ${types.length} are known`,
    Deduplication: idIsSigned ? "the event ID" : "the event ID, and the SHA-256 of what is signed",
    "Fields of an attempt": attemptFields.map((field) => `\`${field}\``).join(", "),
    "Handshake, answer": facts.answer ?? "202, 200 for a duplicate",
    Deadline: facts.deadline ?? NOT_DOCUMENTED,
    Repeats: facts.repeats ?? NOT_DOCUMENTED,
    "Read in": readIn(facts.repeatsRead),
    Lost: facts.lost ?? "",
    "Largest body": `${provider.bodyBytesMax / 1024 / 1024} MiB`,
    "Test from the sender": facts.test ?? NOT_DOCUMENTED,
    "Sample of Millrace": sampleOf(provider),
    Sources: facts.sources
      .map((source) => (source.startsWith("https:") ? `<${source}>` : source))
      .join("; "),
  };
  const lines = Object.entries(rows).filter(([, text]) => text !== "");
  return page(facts.title, [
    ...["[All senders](README.md)", ""],
    ...lines.map(([title, text]) => `- **${title}:** ${text}`),
  ]);
}

/** The page that states the deadline and the repeats, or the one of the two that \`part\` names. */
function readIn(read) {
  if (read === undefined) return "";
  return `<${read.url}>${read.part === undefined ? "" : ` (${read.part})`}, on ${read.date}`;
}

function sampleOf(provider) {
  try {
    const secret = provider.generateSecret();
    provider.sign({ eventId: "a", type: "b", body: Buffer.from("{}"), secret, nowMs: 0 });
  } catch {
    return "none: only the sender can sign";
  }
  return `\`millrace send <source> ${provider.sampleTypes[0]}\``;
}

function page(title, lines) {
  return `${[WRITTEN, "", `# ${title}`, "", ...lines].join("\n")}\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { senders } = await import("../packages/providers/dist/index.js");
  for (const [file, text] of pagesOf(senders)) writeFileSync(new URL(file, FOLDER), text);
}
