import { percentDecoded } from "./connection-urls.ts";

/** Names of secrets, alone or at the end of a longer name: `DB_PASSWORD`, `accessToken`. */
const NAMES =
  "credential|password|passwd|pwd|passphrase|secret(?:[_-]?key)?|token|(?:api|access|account|auth|encryption|private|signing)[_-]?key|signature|session[_-]?id";
/** Between a name and its value; quotes may be escaped, as in JSON within JSON. */
const SEPARATOR = String.raw`\\{0,4}["']?\s{0,3}(?:=>|[:=])\s{0,3}(?:\[\s{0,3})?`;
const VALUE = String.raw`\\{1,4}"[^"\\]{0,2000}|"(?:[^"\\]|\\.){0,2000}"?|'[^']{0,2000}'?|[^\s,;&)}\]"'\\]{1,2000}`;

// Each pattern is bounded: the text may be hostile.
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
    "<secret>",
  ],
  // The user and the password of a URL, which may hold an @.
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#"'<>]{1,300}@/gi, "$1<secret>@"],
  // Whole headers: a scheme that nobody knows, or the second of several cookies, is a secret too.
  [
    new RegExp(
      String.raw`\b((?:proxy-)?authorization|(?:set-)?cookie)(${SEPARATOR})(\\{1,4}"[^"\\]{0,4000}|"(?:[^"\\]|\\.){0,4000}"?|'[^']{0,4000}'?|[^\n"'}\]\\]{1,4000})`,
      "gi",
    ),
    "$1$2<secret>",
  ],
  [/\bBearer [\w.~+/=-]{8,4000}/gi, "Bearer <secret>"],
  // "Token expired", "Basic authentication" are words; a token has a digit.
  [/\b(Basic|Token|Digest) (?=[A-Za-z.~+/=_-]{0,100}\d)[\w.~+/=-]{8,4000}/gi, "$1 <secret>"],
  [/\beyJ[\w-]{5,2000}\.[\w-]{5,4000}(?:\.[\w-]{0,2000})?/g, "<secret>"],
  [/\b(?:sk|rk|pk)_(?:live|test)_\w{8,200}/g, "<secret>"],
  [/\bsk-[\w-]{20,200}/g, "<secret>"],
  [/\bwhsec_[\w+/=-]{8,200}/g, "<secret>"],
  [/\b(?:xox[abeoprs]|xapp)-[\w-]{8,300}/g, "<secret>"],
  [/(\bhooks\.slack\.com\/services\/)[\w/]{8,200}/g, "$1<secret>"],
  [/\b(?:gh[oprsu]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,100})/g, "<secret>"],
  [/\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{30,50})/g, "<secret>"],
  [
    /\b(?:shp(?:at|ca|pa|ss)_[a-f0-9]{20,64}|npm_\w{30,60}|SG\.[\w-]{10,60}\.[\w-]{10,100})/g,
    "<secret>",
  ],
  [new RegExp(`(${NAMES})(${SEPARATOR})(?:${VALUE})`, "gi"), "$1$2<secret>"],
];

export function hideSecrets(text: string, known: readonly string[] = []): string {
  let hidden = text;
  // First, because a pattern may cover a part of one.
  for (const secret of known) hidden = hidden.replaceAll(secret, "<secret>");
  for (const [pattern, mark] of SECRETS) hidden = hidden.replace(pattern, mark);
  return hidden;
}

/** Characters that are read beyond the part that is kept, and the longest secret. */
const BEYOND_CHARS = 4_000;

/** Hides before it cuts: half of a secret is not recognized. */
export function cutWithoutSecrets(
  text: string,
  charsMax: number,
  known: readonly string[] = [],
): string {
  const readMax = charsMax + 2 * BEYOND_CHARS;
  if (text.length <= readMax) return hideSecrets(text, known).slice(0, charsMax);
  // The last word may be half of a secret.
  const read = text.slice(0, readMax);
  const lastSpace = Math.max(...[" ", "\n", "\t"].map((space) => read.lastIndexOf(space)));
  const whole = read.slice(0, Math.max(lastSpace, readMax - BEYOND_CHARS));
  return hideSecrets(whole, known).slice(0, charsMax);
}

/** Shorter ones would be found in ordinary words. */
const CHARS_MIN = 8;
const SECRET_VARIABLE = /(?:secret|password|passwd|passphrase|token|key|credential)s?$/i;

/** Values of secret variables, whole and in the parts of a list, and the passwords of URLs. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = Object.entries(env).flatMap(([name, value = ""]) => {
    if (!SECRET_VARIABLE.test(name)) return passwordsOf(value);
    const parts = value.split(/[\s,"[\]]+/);
    // A token with a name: `deploy:...`.
    return [value, ...parts, ...parts.map((part) => part.slice(part.indexOf(":") + 1))];
  });
  const secrets = [...new Set(found.map((secret) => secret.trim()))];
  // Longest first: one may be a part of another.
  return secrets
    .filter((secret) => secret.length >= CHARS_MIN)
    .toSorted((a, b) => b.length - a.length);
}

function passwordsOf(url: string): string[] {
  const [, password] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#:@]*:([^/?#]+)@/i.exec(url) ?? [];
  return password === undefined ? [] : [password, percentDecoded(password) ?? password];
}
