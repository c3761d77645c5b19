import type { z } from "zod";

const NOUNS: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a string",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Words for people who write a config, in place of zod's own; a schema's own message goes first. */
export const plainWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case "too_small":
      return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `has no option ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_key":
      return issue.issues.map(({ message }) => `its name ${message}`).join(", ");
    default:
      return undefined;
  }
};
