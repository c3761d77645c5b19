// The site of `npm run docs`. scripts/docs.mjs stages its pages and writes the sidebar.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const staged = new URL("../.pages/", import.meta.url);

export default defineConfig({
  title: "Millrace",
  description: "Receives webhooks exactly once: TypeScript, Postgres, BullMQ",
  lang: "en-US",
  head: [["link", { rel: "icon", href: "/icon.svg" }]],
  srcDir: ".pages",
  outDir: "../../dist/site",
  markdown: {
    // Braces in headings are paths of the API.
    attrs: { disable: true },
    // As on GitHub, so that a link to a heading works in both.
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
    },
  },
  themeConfig: {
    logo: "/icon.svg",
    search: { provider: "local" },
    outline: [2, 3],
    ...JSON.parse(readFileSync(new URL("site.json", staged), "utf8")),
  },
});
