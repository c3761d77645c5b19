type Split<
  Text extends string,
  By extends string,
  Found = never,
> = Text extends `${infer Head}${By}${infer Rest}` ? Split<Rest, By, Found | Head> : Found | Text;

type Word<Text extends string> = Exclude<Split<Extract<Split<Text, "\n">, string>, " ">, "">;

type Expanded<One> = One extends `${infer Head}{${infer Ends}}`
  ? `${Head}${Extract<Split<Ends, ",">, string>}`
  : One;

/** The words of a text: they stay literals, so that a misspelled one does not compile. */
export type Words<Text extends string> = Expanded<Word<Text>>;

/** Lists the words of a text, in its order: `coupon.{created,deleted}` is two. */
export function wordsOf<const Text extends string>(text: Text): readonly Words<Text>[] {
  const words = text.split(/\s+/).flatMap((word) => {
    const [, head = "", ends = ""] = /^(.*)\{(.*)\}$/.exec(word) ?? [];
    return head === "" ? word : ends.split(",").map((end) => head + end);
  });
  return words.filter(Boolean) as unknown as readonly Words<Text>[];
}
