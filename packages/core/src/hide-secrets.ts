// What services call their secrets, and where programs put them. Each pattern is bounded: the text may be hostile.
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
    "<secret>",
  ],
  // The user and the password of a URL.
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'<>]{1,300}@/gi, "$1<secret>@"],
  [/\b(Bearer|Basic|Token|Digest) [\w.~+/=-]{8,4000}/gi, "$1 <secret>"],
  [/\beyJ[\w-]{5,2000}\.[\w-]{5,4000}(?:\.[\w-]{0,2000})?/g, "<secret>"],
  [/\b(?:sk|rk|pk)_(?:live|test)_\w{8,200}/g, "<secret>"],
  [/\bwhsec_[\w+/=-]{8,200}/g, "<secret>"],
  [/\b(?:xox[abeoprs]|xapp)-[\w-]{8,300}/g, "<secret>"],
  [/\b(?:gh[oprsu]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,100})/g, "<secret>"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, "<secret>"],
  [
    /\b(?:shp(?:at|ca|pa|ss)_[a-f0-9]{20,64}|npm_\w{30,60}|SG\.[\w-]{10,60}\.[\w-]{10,100})/g,
    "<secret>",
  ],
  [
    /(\b|_)(authorization|cookie|credential|password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signature)(["']?\s{0,3}[:=]\s{0,3})("(?:[^"\\]|\\.){0,2000}"?|'[^']{0,2000}'?|[^\s,;&)}\]"']{1,2000})/gi,
    "$1$2$3<secret>",
  ],
];

/**
 * Takes the secrets out of a text that is kept: those that carry the prefix of their service, stand behind a name such
 * as `password`, or in a header or a URL. A secret that looks like any other word cannot be told from one.
 */
export function hideSecrets(text: string): string {
  let hidden = text;
  for (const [pattern, mark] of SECRETS) hidden = hidden.replace(pattern, mark);
  return hidden;
}
