import { MillraceError, plainWords, type Delivery, type SignedMessage } from "@millrace/core";
import { z } from "zod";
import {
  ENCODINGS,
  KEY_ENCODINGS,
  type KeyEncoding,
  type SignatureEncoding,
} from "./prepare-secrets.ts";
import {
  isIdUnbounded,
  isMessageTemplate,
  TIMESTAMP_UNITS,
  type TimestampRule,
  type TimestampUnit,
} from "./signed-message.ts";

export const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be a header's name")
  .toLowerCase();

const keyEncoding = z.enum(KEY_ENCODINGS);

export const HMACS = ["sha256", "sha1", "sha512"] as const;
const ALGORITHMS = [...HMACS, "ed25519", "p256", "rsa", "standard", "token"] as const;

/** The way a sender signs, as data. */
export interface SignatureOptions {
  /** Header that holds the signature, or each that may. */
  header: string | string[];
  /**
   * `sha256` (default), `sha1`, and `sha512` are HMACs; `ed25519`, `p256`, and `rsa` are checked
   * with the sender's public key; `standard` is the list of Standard Webhooks, HMAC-SHA256 or
   * Ed25519 by the secret's prefix; `token` is the secret itself, and covers nothing of a delivery.
   */
  algorithm?: (typeof ALGORITHMS)[number] | undefined;
  /** Encoding of the signature in the header. Default: `hex`; of a token, none. */
  encoding?: SignatureEncoding | undefined;
  /**
   * Encoding of an HMAC's secret: `utf8` (default) uses its text as the key, `hex` and `base64`
   * decode it. Of a list, each reading that fits the secret verifies. `base64` accepts a `whsec_`
   * prefix, and in a list requires it.
   */
  key?: KeyEncoding | KeyEncoding[] | undefined;
  /** Text before the signature in its header, such as `sha256=`. */
  prefix?: string | undefined;
  /** Names of the signature and of the time among pairs: `t=<time>,v1=<signature>`. */
  pairs?: { separator: "," | ";"; signature: string; time?: string };
  /**
   * The signed message: a template with `{body}`, `{ts}`, `{header:<name>}`, and `{url}`, or a
   * function that returns each message that would be accepted. Default: `{body}`.
   */
  message?: string | MessageMaker;
  /** The URL that the sender calls and signs, as it is registered there. */
  url?: string;
  /** Location and unit of the signed time; without a location, it stands among the pairs. */
  time?: (Omit<TimestampRule, "unit"> & { unit?: TimestampUnit | undefined }) | undefined;
  /** Milliseconds that the signed time may be off, both ways. Default: 300,000. */
  toleranceMs?: number;
}

/**
 * Makes the signed message of a delivery where no template says it: several where senders differ,
 * or none when the delivery cannot have been signed. `url` is that of the options.
 */
export type MessageMaker = (
  delivery: Pick<Delivery, "url" | "body">,
  url: string,
) => readonly SignedMessage[];

const HEADER_PLACE = /\{header:([^{}]+)\}/;

export const signatureSchema = z
  .strictObject({
    header: z.union([headerName, z.array(headerName).min(1)]),
    algorithm: z.enum(ALGORITHMS).default("sha256"),
    encoding: z.enum(ENCODINGS).optional(),
    key: z.union([keyEncoding, z.array(keyEncoding).min(1)]).default("utf8"),
    prefix: z.string().default(""),
    pairs: z
      .strictObject({
        separator: z.enum([",", ";"]),
        signature: z.string().min(1),
        time: z.string().min(1).optional(),
      })
      .optional(),
    message: z
      .union([z.string(), z.custom<MessageMaker>((value) => typeof value === "function")])
      .default("{body}"),
    url: z.string().optional(),
    time: z
      .strictObject({
        header: headerName.optional(),
        json: z.string().min(1).optional(),
        unit: z.enum(TIMESTAMP_UNITS).default("s"),
      })
      .optional(),
    toleranceMs: z.int().min(1_000).optional(),
  })
  .superRefine(({ message, url, time, pairs }, context) => {
    const issue = (path: string, text: string) =>
      context.addIssue({ code: "custom", path: [path], message: text });
    if (typeof message === "string") {
      const template = message.replace(HEADER_PLACE, "{id}").replace("{url}", "url");
      checkMessage({ template, time, name: "{header:<name>}" }, issue);
    }
    if (String(message).includes("{url}") && url === undefined) {
      issue("url", "must say what {url} of message is");
    }
    const isAmongPairs = time !== undefined && (time.header ?? time.json) === undefined;
    if (isAmongPairs !== (pairs?.time !== undefined)) {
      issue("time", "must have a header or a json path, or stand among pairs");
    }
  });

/** Checks a template of `{body}`, `{ts}`, and `{id}`, for which the user wrote `name`. */
export function checkMessage(
  { template, time, name }: Pick<SignatureOptions, "time"> & { template: string; name: string },
  issue: (path: "message" | "time", text: string) => void,
): void {
  const signsTime = template.includes("{ts}");
  if (!isMessageTemplate(template)) {
    issue("message", `must hold {body}, and {ts} or ${name} at most once, in plain ASCII`);
  }
  if (signsTime && time === undefined) {
    issue("time", "must name the header that {ts} in message stands for");
  }
  if (time !== undefined && time.json === undefined && !signsTime) {
    issue("message", "must hold {ts}: a time that is not signed can be written by anyone");
  }
  if (isIdUnbounded(template, time?.unit)) {
    issue("message", `must separate ${name} from the text next to it, or its end can be moved`);
  }
}

export function parseSignature(options: SignatureOptions): ParsedSignature {
  const data = parseOptions("signature", signatureSchema, options);
  if (typeof data.message === "function") return data;
  const idHeader = HEADER_PLACE.exec(data.message)?.[1]?.toLowerCase();
  return { ...data, message: data.message.replace(HEADER_PLACE, "{id}"), idHeader };
}

/** @throws `invalid_config` with every problem at once. */
export function parseOptions<Parsed>(
  name: string,
  of: z.ZodType<Parsed>,
  options: unknown,
): Parsed {
  const { data, error } = of.safeParse(options, { error: plainWords });
  if (data !== undefined) return data;
  const lines = error?.issues.map(({ path, message }) => `  ${path.join(".")}: ${message}`) ?? [];
  throw new MillraceError("invalid_config", `Cannot use ${name}({...}):\n${lines.join("\n")}`);
}

export type ParsedSignature = z.output<typeof signatureSchema> & {
  readonly idHeader?: string | undefined;
};
