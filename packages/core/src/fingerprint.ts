import { hash } from "node:crypto";
import type { StackFrame } from "./claim.ts";

/** The version of the method. Another method gets another number, so that earlier groups stay. */
const VERSION = 1;
const TITLE_CHARS_MAX = 300;
/** Characters of a message that are read: the beginning distinguishes errors. */
const TEXT_CHARS_MAX = 2_000;

/**
 * Identifies an error by its code, its text without what varies, and the project's function that
 * threw it. Lines are no part of it: a release that moves code keeps its groups.
 * @param text - as people are shown the error: its class, its message and its causes.
 */
export function identifyError({
  code,
  text,
  frame,
}: {
  readonly code: string;
  readonly text: string;
  readonly frame?: Pick<StackFrame, "file" | "function"> | undefined;
}) {
  const masked = maskVarying(text.slice(0, TEXT_CHARS_MAX));
  const place = frame === undefined ? "" : `${frame.file}\n${functionName(frame.function)}`;
  const digest = hash("sha256", `${code}\n${masked}\n${place}`, "hex");
  return {
    fingerprint: `${VERSION}-${digest.slice(0, 16)}`,
    title: masked.slice(0, TITLE_CHARS_MAX),
  };
}

/** V8 names anonymous functions differently in each build: their file stands for them. */
function functionName(name: string | null): string {
  return name === null || name.includes("<anonymous>") ? "" : name.replace(/^(?:async|new) /, "");
}

/** Values of JSON that name a rule and not what broke it, as in the issues of a schema. */
const RULE_KEYS = "code|path|expected|format|kind|origin|type|validation";
/** Words before a quoted name of something that the programs have, such as a column. */
const NAMED =
  "argument|column|constraint|enum|export|extension|field|function|import|index|method|module|named|operator|option|package|parameter|property|reading|relation|role|schema|sequence|setting|table|type|variable|view";

/** Names of formats and algorithms that a number is part of. */
const NUMBERED = "aes|http|ipv|iso|latin|md|oauth|sha|tls|utf";

// A text in quotes. A quote before a letter does not end it (`'O'Brien'`), and one behind which
// the next quote is an end does not either (`"a 5" screen"`).
const quoted = (quote: string) =>
  `${quote}(?:[^${quote}\\\\\\n]|\\\\.|${quote}(?=\\w|[^${quote}\\n]{0,100}[^\\s"'([{:=,/|<>-]${quote}(?!\\w))){0,500}${quote}`;

/** Each pattern is bounded, so that a hostile text costs no more than its length. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>)\]]{1,500}/gi, "<url>"],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g, "<email>"],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, "<id>"],
  [
    /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?)?/g,
    "<time>",
  ],
  [
    /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \w{2,3} \w{2,3} \d{4} [\d:]{5,8}(?: GMT(?:[+-]\d{4})?)?/g,
    "<time>",
  ],
  // Bytes, as Postgres shows them: before what stands behind a quoted name is taken for JSON.
  [/\b0x[0-9a-f]{1,64}\b(?:,? 0x[0-9a-f]{1,64}\b){0,64}/gi, "<n>"],
  // V8 says where and how a text stops being JSON: one fault, a new text with each body.
  [
    /\b(?:Bad|Expected|Exponent|No|Unexpected|Unterminated) [^\n]{1,60}? (?:in|after) JSON at position \d{1,10}(?: \(line \d{1,10} column \d{1,10}\))?|\bUnexpected end of JSON input\b/g,
    "<text> is not valid JSON",
  ],
  // V8 does not quote these, or not what is in the quotes.
  [/, (?:\.{3})?"[^\n]{0,500}"(?:\.{3})? is not valid JSON/g, ", <text> is not valid JSON"],
  [/\b(Cannot convert) [^\n]{1,200}? (to a BigInt)\b/g, "$1 <text> $2"],
  [/\b(Invalid (?:currency code|language tag|time zone specified) ?:) \S{1,100}/g, "$1 <text>"],
  [
    new RegExp(`"(?!(?:${RULE_KEYS})")([^"\\n]{1,60})": ?"(?:[^"\\\\]|\\\\.){0,500}"`, "g"),
    '"$1": <text>',
  ],
  [/"([^"\n]{1,60})": ?(?:-?\d[\d.eE+-]{0,20}|true|false|null)/g, '"$1": <value>'],
  // Text in quotes, except JSON's names and rules, and the names of a program.
  [
    new RegExp(
      `(?<!(?:\\b(?:${NAMED}) |"(?:${RULE_KEYS})": ?|"path": ?\\[[^\\]]{0,100}))(?<![\\w])${quoted('"')}(?!: ?["<[{])(?:\\.{3})?`,
      "g",
    ),
    "<text>",
  ],
  [new RegExp(`(?<!\\b(?:${NAMED}) )(?<![\\w])${quoted("'")}(?!\\w)`, "g"), "<text>"],
  [/`[^`\n]{0,500}`/g, "<text>"],
  [/[“‘][^”’\n]{0,500}[”’]/g, "<text>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, "<host>"],
  [/\[?\b(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?::\d{1,5})?(?![\w:])/gi, "<host>"],
  [
    /\b((?:ENOTFOUND|EAI_AGAIN|ECONN[A-Z]{3,10}|ETIMEDOUT|EHOSTUNREACH|host|hostname)) [\w.-]{1,253}(?::\d{1,5})?/g,
    "$1 <host>",
  ],
  [
    /\b(?:[a-z0-9-]{1,63}\.){1,6}(?:com|net|org|io|dev|app|cloud|internal|local|localdomain|example|invalid|test)(?::\d{1,5})?\b/gi,
    "<host>",
  ],
  [/\blocalhost(?::\d{1,5})?\b/g, "<host>"],
  [/(?<![\w.<])(?:[A-Za-z]:)?(?:[\\/][\w.@ -]{1,100}){2,20}(?<! )/g, "<path>"],
  // Identifiers: letters and digits together, or long hexadecimal.
  [
    /\b[A-Za-z]{1,12}(?:[_-][A-Za-z]{1,12}){0,2}[_-](?=[\w-]{0,60}\d)[A-Za-z0-9]{4,64}(?:[_-][A-Za-z0-9]{1,64}){0,3}\b/g,
    "<id>",
  ],
  // Short ones, such as `evt_w2`, but not names of a program.
  [
    new RegExp(
      `(?<![\\w.-])(?<!\\b(?:${NAMED}) ["']?)(?!(?:${NUMBERED})_)[a-z]{1,12}(?:_[a-z]{1,12}){0,2}_(?=[A-Za-z]{0,2}\\d)[A-Za-z0-9]{1,3}(?![\\w-]|\\.\\w)`,
      "g",
    ),
    "<id>",
  ],
  // A letter or a word, and a number; `P2002` and `E11000` are kinds of errors.
  [
    new RegExp(
      `(?<![\\w.-])(?<!\\b(?:${NAMED}) ["']?)(?!(?:${NUMBERED})\\d)(?:[a-z]{1,12}\\d{3,9}|[A-Za-z]{1,12}\\d{6,9})(?![\\w-]|\\.\\w)`,
      "g",
    ),
    "<id>",
  ],
  [/\b(?=[A-Za-z]{0,60}\d)(?=\d{0,60}[A-Za-z])(?!SQLSTATE)[A-Za-z0-9+/]{10,500}={0,2}/g, "<id>"],
  [/\b(?=[a-f]{0,8}\d)(?=\d{0,8}[a-f])[0-9a-f]{6,9}\b/g, "<id>"],
  [/\b(?=[A-Z-]{0,60}\d)[A-Z0-9]{1,32}(?:-[A-Z0-9]{1,32}){1,6}\b/g, "<id>"],
  [/#[\w-]{1,64}\b/g, "#<id>"],
  // Statuses of HTTP and of Postgres are kinds of errors.
  [
    /(?<![\w<])(?<!SQLSTATE )(?<!\b(?:HTTP|[Ss]tatus|[Ss]tatus code|statusCode)[ :=]{1,2}|\b(?:answered|replied|responded)(?: with)? (?=[45]\d\d\b))[-+]?\d[\d_]{0,40}(?:[.,:]\d{1,40}){0,6}(?:e[+-]?\d{1,4})?(?=%|ms\b|s\b|kB\b|MB\b|[A-Z]\b|\b)/g,
    "<n>",
  ],
];

function maskVarying(text: string): string {
  let masked = text;
  for (const [pattern, mark] of VARYING) masked = masked.replace(pattern, mark);
  // Lists are of any length.
  return masked.replace(/(<\w{1,8}>)(?:, ?\1){1,500}/g, "$1");
}
