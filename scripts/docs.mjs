// `npm run docs`: the documentation as a site, in dist/site, with local search, each page as
// Markdown too, and llms.txt. Fails on a link that leads nowhere.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { install } from "./install.mjs";
import { readOptions } from "./read-options.mjs";
import { referencePages } from "./reference-pages.mjs";
import { runCommand } from "./run-command.mjs";
import { brokenLinks, readSidebar, stagePage } from "./site-pages.mjs";

readOptions(
  {},
  "Usage: npm run docs\n\nBuilds the documentation site into dist/site, and checks its links.",
);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);

const site = join(root, "infra", "site");
const staged = join(site, ".pages");
const out = join(root, "dist", "site");
const repository = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).repository;

rmSync(staged, { recursive: true, force: true });
for (const folder of ["decisions", "providers", "reference"]) {
  mkdirSync(join(staged, folder), { recursive: true });
}
cpSync(join(root, "docs", "images"), join(staged, "images"), { recursive: true });
// The look is the dashboard's. The site has a switch instead of a media query.
const look = join(root, "apps", "ledger-page", "src", "page");
cpSync(join(look, "icon.svg"), join(staged, "public", "icon.svg"));
const tokens = readFileSync(join(look, "style", "tokens.css"), "utf8");
const dark = /@media \(prefers-color-scheme: dark\) {\s*:root ({[^}]*})\s*}/;
writeFileSync(join(staged, "tokens.css"), tokens.replace(dark, ".dark $1"));

const folders = ["docs", "docs/providers", "decisions"];
const sources = ["README.md", ...folders.flatMap(markdownOf)];
const pages = new Map(
  sources
    // Its links are the sidebar.
    .filter((path) => path !== "docs/README.md")
    .map((path) => stagePage(path, readFileSync(join(root, path), "utf8"), repository)),
);
await install(site);
for (const [path, text] of await referencePages(root)) pages.set(path, text);
for (const [path, text] of pages) writeFileSync(join(staged, path), text);

const sidebar = readSidebar(readFileSync(join(root, "docs", "README.md"), "utf8"));
const socialLinks = [{ icon: "github", link: repository }];
writeFileSync(join(staged, "site.json"), JSON.stringify({ sidebar, socialLinks }));

const vitepress = join(site, "node_modules", ".bin", "vitepress");
const built = await runCommand(vitepress, ["build", site], { cwd: root });
rmSync(staged, { recursive: true, force: true });
if (built.code !== 0) process.exit(built.code);

// For programs that read the documentation.
for (const [path, text] of pages) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), text);
}
const titles = [...pages].map(
  ([path, text]) => `- [${/^# (.+)$/m.exec(text)?.[1] ?? path}](${path})`,
);
writeFileSync(
  join(out, "llms.txt"),
  `# Millrace\n\n> Receives webhooks, stores each before it answers, and applies your handler's Postgres writes exactly once.\n\n## Pages\n\n${titles.join("\n")}\n`,
);

const broken = brokenLinks(out);
for (const link of broken) console.error(`Broken link: ${link}`);
console.log(`${pages.size} pages in dist/site, ${broken.length} broken links`);
process.exit(broken.length === 0 ? 0 : 1);

function markdownOf(folder) {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
}
