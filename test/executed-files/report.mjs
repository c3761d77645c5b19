const WHAT = {
  delivery: "One Stripe delivery, from the socket to the answer 202",
  attempt: "One attempt of an event, from BullMQ's callback to the COMMIT",
};

/** The files of each way and their functions, as Markdown. */
export function report(title, ways) {
  const sections = Object.entries(WHAT).map(([way, what]) => {
    const files = byFile(ways[way]);
    return [
      `## ${what}: ${files.size} files`,
      "",
      ...[...files].map(([path, names]) => `- \`${path}\`: ${names.join(", ")}`),
      "",
    ].join("\n");
  });
  const made = [
    "Product files of which at least one function runs, with these functions, by V8's precise coverage",
    "after a warm-up. `node scripts/executed-files.mjs` makes the list; `--help` says how.",
  ];
  return [`# ${title}`, "", ...made, "", ...sections].join("\n");
}

/** Functions by path, in alphabetical order; those of a file in its order. */
function byFile(called) {
  const files = new Map();
  const entries = called.map((entry) => entry.split("\t"));
  entries.sort(([a, , x], [b, , y]) => (a < b ? -1 : a > b ? 1 : x - y));
  for (const [path, name] of entries) {
    files.set(path, [...(files.get(path) ?? []), name === "" ? "(anonymous)" : name]);
  }
  return files;
}
