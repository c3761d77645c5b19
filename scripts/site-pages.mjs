import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/**
 * A page of the repository as one of the site: its path there, and its text with links that work
 * there. What is not on the site is linked in the repository.
 *
 * @returns {[path: string, text: string]}
 */
export function stagePage(path, text, repository) {
  const target = sitePath(path) ?? path;
  const parts = text.split(/(^```[\s\S]*?^```$)/m);
  const linked = parts.map((part, index) =>
    index % 2 === 1 ? part : part.replaceAll(/\]\(([^)\s]+)\)/g, (_, link) => `](${move(link)})`),
  );
  return [target, linked.join("")];

  function move(link) {
    if (/^(?:[a-z]+:|#)/.test(link)) return link;
    const [file = "", anchor] = link.split("#");
    const source = normalize(join(dirname(path), file));
    const page = sitePath(source);
    const hash = anchor === undefined ? "" : `#${anchor}`;
    if (page !== undefined) return `/${page}${hash}`;
    const kind = /\.\w+$/.test(source) ? "blob" : "tree";
    return `${repository}/${kind}/main/${source}${hash}`;
  }
}

/** Undefined for a file that is not on the site. */
function sitePath(path) {
  if (path === "README.md" || path === "docs/README.md") return "index.md";
  if (/^decisions(\/README\.md)?\/?$/.test(path)) return "decisions/index.md";
  if (/^docs\/providers\/(README\.md)?$/.test(path)) return "providers/index.md";
  if (/^decisions\/.+\.md$/.test(path)) return path;
  return /^docs\/(.+\.(?:md|png))$/.exec(path)?.[1];
}

/** From the list of pages: a bold line is a group, a link a page. */
export function readSidebar(text) {
  const groups = [];
  for (const line of text.split("\n")) {
    const [, group] = /^\*\*(.+)\*\*$/.exec(line) ?? [];
    if (group !== undefined) groups.push({ text: group, collapsed: false, items: [] });
    const [, title, link] = /^- \[(.+?)\]\((\S+?)\)/.exec(line) ?? [];
    const page = link === undefined ? undefined : sitePath(normalize(join("docs", link)));
    if (page !== undefined) groups.at(-1)?.items.push({ text: title, link: `/${page}` });
  }
  const reference = [
    ["Command", "command"],
    ["HTTP API", "http-api"],
    ["Metrics", "metrics"],
    ["SQL view", "sql-view"],
    ["TypeScript API", "typescript"],
    ["TypeScript API: senders", "typescript-senders"],
    ["TypeScript API: testing", "typescript-testing"],
  ].map(([title, name]) => ({ text: title, link: `/reference/${name}.md` }));
  groups.find((group) => group.text === "Look up")?.items.push(...reference);
  return groups;
}

/** Links of the built pages to pages or headings of the site that do not exist. */
export function brokenLinks(folder) {
  const names = readdirSync(folder, { recursive: true }).map(String);
  const pages = names.filter((name) => name.endsWith(".html"));
  const texts = new Map(pages.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  const ids = new Map(
    [...texts].map(([name, text]) => [
      name,
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  return [...texts].flatMap(([name, text]) =>
    [...text.matchAll(/ href="([^"]+)"/g)].flatMap(([, link = ""]) => {
      if (/^[a-z]+:/.test(link) || /\.(?:css|js|svg|woff2)$/.test(link)) return [];
      const [path = "", anchor] = decodeURIComponent(link).split("#");
      const at = path === "" ? name : join(path.startsWith("/") ? "" : dirname(name), path);
      const page = at.replace(/^\//, "").replace(/(^|\/)$/, "$1index.html");
      const found = ids.get(page);
      const isThere = anchor === undefined ? found !== undefined : found?.has(anchor) === true;
      return isThere ? [] : [`${name}: ${link}`];
    }),
  );
}
