// Words that are not used in what users read, each with a better one. scripts/check-words.mjs looks
// for them. A word is matched whole, in any case, and not as a part of a hyphenated one.
//
// Before you add one: a false positive costs everybody who writes. A word belongs here only if
// there is no sentence about Millrace that needs it.

const WORDS = [
  // Turns of phrase that a reader has to read twice.
  ["whoever|whomever", "anyone who"],
  ["whom", "who, or a shorter sentence"],
  ["whosoever|whichsoever|whatsoever", "whichever, at all"],
  ["for ever", "forever, or until when"],
  // "Neither ... nor" is plain; a sentence that begins with it, or goes on with it, is not.
  ["(?<!\\bneither\\b[^.]*)nor", "or, and not"],
  ["(?:of )?one's own", "your own, its own"],
  ["(?<!there )(?:is|are|was|were) none", "there is no ..., or none of them"],
  ["beside", "next to, or in addition to"],
  ["under way", "running, in progress"],
  ["(?:goes|go|went) before", "takes precedence over"],
  ["ended? in good order", "shuts down cleanly"],
  ["for want of", "because ... is missing"],
  ["of late", "recently"],
  ["without a word", "without reporting a result, silently"],
  ["as it is none|if it is none", "if there is none"],
  ["lest", "so that ... not"],
  ["in vain", "without effect, and are rolled back"],
  ["begins? so", "begins with it"],
  // Verbs of people for what programs do.
  ["mends?|mended|mending", "repair, fix"],
  ["tells?|told|telling", "says, logs, reports, notifies, distinguishes"],
  ["hears?|heard|hearing", "gets, is notified of"],
  // Names of the first build that nobody can search for.
  ["durable places?|guarded places?|second place|two places", "store, the other store, two stores"],
  ["placers?|placements?", "batching, store result"],
  ["keepers?", "what it stores"],
  ["doors?", "adapter, authenticator, entry point"],
  ["gates?", "circuit breaker"],
  ["coalescers?|coalesced", "batching, batched"],
  ["stray bytes", "abandoned bytes"],
  ["strays?", "abandoned, unexpected"],
  ["glances?|glanced", "job status"],
  ["standings?", "ledger status"],
  ["upkeep|chores?", "periodic task"],
  ["lanes?", "concurrency, at a time"],
  ["patiently", "until it is available"],
  ["tally|tallies", "count"],
  ["(?:has|have|is|no|for) room", "capacity, space"],
  ["comes again", "is retried, is sent again"],
];

/** Words that comments do not use either. Users meet them in the names of other programs. */
const COMMENT_WORDS = [
  ["what (?:it|they)", "the noun: the limit, the rows, the answer"],
  ["places?", "store, slot, position, page, or instead of"],
];

const toPattern = ([words, better]) => ({
  pattern: new RegExp(`(?<![\\w'-])(?:${words})(?![\\w-])`, "gi"),
  better,
});
const PATTERNS = WORDS.map(toPattern);
const COMMENT_PATTERNS = COMMENT_WORDS.map(toPattern);
/** The first word of a comment, after `//` or the opening of a block. */
const QUESTION = /^\s*(?:\{?\/\*\*?|\/\/|\*)?\s*(What|Whether|How|Why)\b/;
const COMMENT_WIDTH_MAX = 100;

/**
 * Files that may hold them, each with the reason.
 *
 * @type {[RegExp, string][]}
 */
export const EXCEPTIONS = [
  [/^packages\/ledger\/migrations\//, "applied migrations are never changed"],
  [/^scripts\/words\.mjs$/, "this list"],
];

/** Ends a line that quotes somebody else, who may use any word. */
const QUOTATION = "words: quotation";

/** The words on the list that a text for readers holds, each with its line. */
export function findWords(text, patterns = PATTERNS) {
  return text.split("\n").flatMap((line, index) => {
    if (line.includes(QUOTATION)) return [];
    return patterns.flatMap(({ pattern, better }) =>
      [...line.matchAll(pattern)].map(([word]) => ({ line: index + 1, word, better })),
    );
  });
}

/** The same for the comments of a source file, with the rules that hold for comments alone. */
export function findCommentWords(source) {
  const comments = commentsOf(source);
  return [
    ...findWords(comments, [...PATTERNS, ...COMMENT_PATTERNS]),
    ...comments.split("\n").flatMap((line, index, lines) => {
      const problems = [];
      const question = QUESTION.exec(line);
      if (question !== null && opensComment(line, lines[index - 1])) {
        problems.push({ line: index + 1, word: question[1], better: "the subject first" });
      }
      if (line.trimEnd().length > COMMENT_WIDTH_MAX && !line.includes("://")) {
        const better = `at most ${COMMENT_WIDTH_MAX} columns`;
        problems.push({ line: index + 1, word: `${line.trim().slice(0, 30)}...`, better });
      }
      return problems;
    }),
  ];
}

/** A comment opens on its own line, on the line after a bare block opening, or after code. */
function opensComment(line, before = "") {
  if (/\/\*/.test(line)) return true;
  if (/^\s*\/\//.test(line)) return !/^\s*\/\//.test(before);
  return /^\s*\{?\/\*\*?\s*$/.test(before);
}

/** The comments of a source file, each where it was. */
export function commentsOf(source) {
  const blank = (text) => text.replaceAll(/[^\n]/g, " ");
  const pieces =
    /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|\/\*[\s\S]*?\*\/|(?<=^|[\s;{(])\/\/.*$/gm;
  let text = "";
  let from = 0;
  for (const match of source.matchAll(pieces)) {
    const isComment = /^\/[/*]/.test(match[0]);
    text += blank(source.slice(from, match.index));
    text += isComment
      ? match[0].replaceAll(/`[^`\n]*`/g, (code) => "`".padEnd(code.length, "`"))
      : blank(match[0]);
    from = match.index + match[0].length;
  }
  return text + blank(source.slice(from));
}

/** The prose of a Markdown page: no code, no link targets; each line where it was. */
export function proseOf(markdown) {
  let fenced = false;
  return markdown
    .split("\n")
    .map((line) => {
      if (/^\s*(?:```|~~~)/.test(line)) {
        fenced = !fenced;
        return "";
      }
      if (fenced) return "";
      return line
        .replaceAll(/``.+?``|`[^`]*`/g, "`code`")
        .replaceAll(/\]\([^)]*\)/g, "]")
        .replaceAll(/<https?:[^>]*>/g, "");
    })
    .join("\n");
}

/**
 * The sentences in the string literals of a TypeScript file, each where it was: messages, help, log
 * lines. Comments, imports and literals of a single word are left out.
 */
export function sentencesOf(source) {
  const blank = (text) => text.replaceAll(/[^\n]/g, " ");
  const code = source
    .replaceAll(/\/\*[\s\S]*?\*\//g, blank)
    .replaceAll(/^\s*\/\/.*$/gm, blank)
    .replaceAll(/(?<=[\s;{(])\/\/ .*$/gm, (text) => (text.includes(QUOTATION) ? text : blank(text)))
    .replaceAll(/^\s*(?:import|export)\b[^"'`]*\bfrom\s*["'][^"'\n]*["'];?/gm, blank);
  const literals = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`/g;
  let text = "";
  let from = 0;
  for (const match of code.matchAll(literals)) {
    text += blank(code.slice(from, match.index));
    const literal = match[0].replaceAll(/\$\{[^}]*\}/g, blank);
    text += /\w\s+\w/.test(literal) ? literal : blank(literal);
    from = match.index + match[0].length;
  }
  const rest = code.slice(from);
  return `${text}${blank(rest)}`;
}
