import { jsonOf } from "@millrace/core";

/** The bodies that a proxy or a parser may have turned into this one, and how they differ. */
export function* earlierBodies(
  body: Uint8Array,
): Iterable<readonly [change: string, body: Uint8Array]> {
  const text = Buffer.from(body).toString("utf8");
  for (const [change, earlier] of [...earlierTexts(text), ...earlierJson(text)]) {
    if (earlier !== text) yield [change, Buffer.from(earlier)];
  }
}

type Earlier = readonly [change: string, text: string];

const earlierTexts = (text: string): readonly Earlier[] => [
  ["without the byte order mark (BOM) in front", text.replace(/^\ufeff/, "")],
  ["with a byte order mark (BOM) in front", `\ufeff${text}`],
  ["with lines that end in LF", text.replaceAll("\r\n", "\n")],
  ["with lines that end in CRLF", text.replaceAll(/\r?\n/g, "\r\n")],
  ["without the line end behind it", text.replace(/\s+$/, "")],
  ["with a line end behind it", `${text}\n`],
];

/** As the languages of senders write JSON. */
function earlierJson(text: string): readonly Earlier[] {
  const value = jsonOf(text.replace(/^\ufeff/, ""));
  if (value === undefined) return [];
  // A line feed within a text is escaped, so each of these stands between values.
  const lines = JSON.stringify(value, null, 1);
  const oneLine = lines.replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
  const forms: readonly Earlier[] = [
    ["as JSON without white space", JSON.stringify(value)],
    ["as JSON with a space behind each comma and colon", oneLine],
    ["as JSON with an indent of 2", JSON.stringify(value, null, 2)],
    ["as JSON with an indent of 4", JSON.stringify(value, null, 4)],
  ];
  return forms.flatMap(([form, json]) => [
    [form, json],
    [`${form}, with escaped slashes`, json.replaceAll("/", "\\/")],
    [`${form}, in ASCII`, inAscii(json)],
    [`${form}, in ASCII with escaped slashes`, inAscii(json).replaceAll("/", "\\/")],
  ]);
}

const inAscii = (json: string): string =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
