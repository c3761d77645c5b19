// C0 and C1 controls, and the characters that turn text around: a stranger's id or error must not
// steer a terminal.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text on one line, with everything escaped that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return " ";
    return `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`;
  });
}
