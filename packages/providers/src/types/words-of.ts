type Split<
  Text extends string,
  By extends string,
  Found = never,
> = Text extends `${infer Head}${By}${infer Rest}` ? Split<Rest, By, Found | Head> : Found | Text;

/** The words of a text: they stay literals, so that a misspelled one does not compile. */
type Word<Text extends string> = Exclude<Split<Extract<Split<Text, "\n">, string>, " ">, "">;

/** Lists the words of a text, in its order. */
export function wordsOf<const Text extends string>(text: Text): readonly Word<Text>[] {
  return text.split(/\s+/).filter(Boolean) as unknown as readonly Word<Text>[];
}
