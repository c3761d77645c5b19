import {
  isMillraceError,
  type Delivery,
  type ErrorCode,
  type SignatureFailure,
  type SignatureReason,
  type Source,
  type Verification,
  type VerifierOptions,
  jsonOf,
} from "@millrace/core";
import type { LiveSecrets } from "../find-source.ts";

export interface Question {
  readonly name: string;
  readonly source: Source;
  readonly delivery: Delivery;
  readonly sources: Readonly<Record<string, Source>>;
  readonly secrets: LiveSecrets;
}

export interface Diagnosis {
  readonly valid: boolean;
  readonly code?: ErrorCode;
  readonly failure?: SignatureFailure | undefined;
  /** Never with a secret in them. */
  readonly sentences: readonly string[];
}

export async function diagnose(question: Question): Promise<Diagnosis> {
  const matches = `The signature matches a secret of "${question.name}".`;
  const verified = await verifyAs(question, { sentence: "" });
  if (verified.ok) return { valid: true, sentences: [matches] };
  const { code, failure, message } = verified;
  const age = ageOf(verified);
  const found = age === undefined && failure !== undefined ? await findCauses(question) : [];
  const unexplained = failure && found.length === 0 ? [UNEXPLAINED[failure.reason] ?? ""] : found;
  const sentences = age === undefined ? [`${message}.`, ...unexplained] : [matches, age];
  return { valid: false, code, failure, sentences };
}

interface Guess {
  readonly sentence: string;
  readonly source?: Source;
  readonly secrets?: readonly string[];
  readonly options?: VerifierOptions;
  readonly body?: Uint8Array;
}

/** The first of each kind that explains the refusal, and the age of such a delivery. */
async function findCauses(question: Question): Promise<string[]> {
  const found: string[] = [];
  let age: string | undefined;
  for (const guesses of [otherSources, otherSecrets, otherKeys, otherUrls, otherBodies]) {
    for (const guess of guesses(question)) {
      const verified = await verifyAs(question, guess);
      const late = ageOf(verified);
      if (!verified.ok && late === undefined) continue;
      found.push(guess.sentence);
      age ??= late;
      break;
    }
  }
  return age === undefined ? found : [...found, age];
}

async function verifyAs(question: Question, guess: Guess): Promise<Verification> {
  const { source, secrets, body, options } = {
    ...{ source: question.source, secrets: question.secrets[question.name] ?? [] },
    ...{ body: question.delivery.body, ...guess },
  };
  const { toleranceMs } = source.options;
  try {
    const verifier = source.provider.createVerifier(secrets, { toleranceMs, ...options });
    return await verifier.verify({ ...question.delivery, body });
  } catch (error) {
    // A guess can be no secret of the provider.
    if (isMillraceError(error)) return { ok: false, code: error.code, message: error.message };
    throw error;
  }
}

/** A time is looked at last: only a delivery whose signature matches is too old or too new. */
function ageOf(verified: Verification): string | undefined {
  const { reason, seconds } = (verified.ok ? undefined : verified.failure) ?? {};
  if (reason !== "too_old" && reason !== "too_new") return undefined;
  const by = seconds === undefined ? "too far" : `${seconds.toLocaleString("en")} s`;
  return reason === "too_old"
    ? `Its signed time is ${by} in the past. If it was when it came, set the clocks by NTP, or toleranceMs.`
    : `Its signed time is ${by} in the future. Set the clocks by NTP, here or at the sender.`;
}

const UNEXPLAINED: Partial<Record<SignatureReason, string>> = {
  header_missing: "The sender has no secret for this URL, or a proxy removed the header.",
  malformed: "The sender is not the source's provider, or a proxy changed the header.",
  no_secret_matches:
    "No secret of this config matches, however it is decoded, and no usual change of the body explains it. Copy the secret from the sender again, and save the bytes as they came.",
};

function* otherSources({ name: asked, sources, secrets }: Question): Iterable<Guess> {
  for (const [name, source] of Object.entries(sources)) {
    const sentence = `It is a delivery for "${name}": the sender's URL must end in /webhooks/${name}.`;
    if (name !== asked) yield { source, secrets: secrets[name] ?? [], sentence };
  }
}

function* otherSecrets({ name: asked, secrets }: Question): Iterable<Guess> {
  for (const [name, theirs] of Object.entries(secrets)) {
    const sentence = `It matches a secret of "${name}", which "${asked}" does not have.`;
    if (name !== asked) yield { secrets: theirs, sentence };
  }
}

function* otherKeys({ name, source, secrets }: Question): Iterable<Guess> {
  const own = secrets[name] ?? [];
  for (const [index, secret] of own.entries()) {
    const which = own.length === 1 ? "the secret" : `secret ${index + 1} of ${own.length}`;
    for (const [text, form] of formsOf(secret, source.provider.secretPrefix)) {
      for (const [key, reading] of KEYS) {
        const sentence = `It matches ${which}${form}${reading}.`;
        yield { secrets: [text], options: key === undefined ? {} : { key }, sentence };
      }
    }
  }
}

const KEYS = [
  [undefined, ""],
  ["utf8", ", used as text"],
  ["hex", ", decoded as hexadecimal"],
  ["base64", ", decoded as base64"],
] as const;

function formsOf(secret: string, own = ""): readonly (readonly [text: string, form: string])[] {
  const prefix = ["whsec_", "v1,whsec_", own].find((one) => one !== "" && secret.startsWith(one));
  return [
    [secret, ""],
    prefix === undefined
      ? [`whsec_${secret}`, " with whsec_ in front"]
      : [secret.slice(prefix.length), ` without its ${prefix}`],
  ];
}

function* otherUrls({ source, delivery }: Question): Iterable<Guess> {
  const url = source.provider.signedUrl;
  if (url === undefined) return;
  const host = delivery.headers["host"] ?? new URL(url).host;
  const path = url.includes("?") ? delivery.url : withoutQuery(delivery.url);
  for (const one of [url, `https://${host}${path}`]) {
    const other = one.startsWith("https") ? one.replace("https", "http") : `https${one.slice(4)}`;
    const slashed = [one, other].map((each) =>
      each.replace(/\/?(?=\?|$)/, (at) => (at ? "" : "/")),
    );
    for (const signed of [one, other, ...slashed]) {
      const sentence = `It is signed for ${withoutQuery(signed)}, and the config has ${withoutQuery(url)}.`;
      yield { options: { url: signed }, sentence };
    }
  }
}

/** A query may hold a token. */
const withoutQuery = (url: string): string => url.split("?")[0] ?? "";

/** The bodies that a proxy or a parser may have turned into this one. */
function* otherBodies({ delivery }: Question): Iterable<Guess> {
  const text = Buffer.from(delivery.body).toString("utf8");
  for (const [change, earlier] of [...earlierTexts(text), ...earlierJson(text)]) {
    const sentence = `The body was changed on its way: it was signed ${change}.`;
    if (earlier !== text) yield { body: Buffer.from(earlier), sentence };
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
