import { plainWords } from "@millrace/core";
import { z } from "zod";
import { parsePlace } from "./identity/locations.ts";
import { KEY_ENCODINGS } from "./signature/prepare-secrets.ts";
import { headerName } from "./signature/signature-options.ts";
import { isIdUnbounded, isMessageTemplate } from "./signature/signed-message.ts";

const CREDENTIALS = new Set(["authorization", "cookie", "proxy-authorization"]);

const location = z.string().transform((text, context) => {
  const found = parsePlace(text);
  if (found?.kind === "header" || found?.kind === "json") return found;
  context.addIssue({
    code: "custom",
    message: "must be header:<name> or json:<path>, with names and indexes between dots and no *",
  });
  return z.NEVER;
});

/** The signatures, names, and types of a custom sender: the options of `hmac()`. */
export interface HmacOptions {
  /** Header that holds the signature. */
  header: string;
  /** Hash function of the HMAC. Default: `sha256`. */
  algorithm?: "sha256" | "sha1" | "sha512" | undefined;
  /** Encoding of the signature in the header. Default: `hex`. */
  encoding?: "hex" | "base64" | "base64url" | undefined;
  /** Text before the signature in its header, such as `sha256=`. Default: none. */
  prefix?: string | undefined;
  /**
   * Encoding of the secret: `utf8` uses its text as the key, `hex` and `base64` decode it. `base64`
   * accepts a `whsec_` prefix. Default: `utf8`.
   */
  key?: "utf8" | "hex" | "base64" | undefined;
  /**
   * The message that the sender signs: a template with `{body}`, and with `{ts}` or `{id}` if it
   * signs them too. Default: `{body}`.
   */
  message?: string | undefined;
  /**
   * Header of the signed timestamp and its unit, seconds (`s`, the default) or milliseconds (`ms`).
   * Without it, an old delivery can be replayed at any time.
   */
  timestamp?: { header: string; unit?: "s" | "ms" | undefined } | undefined;
  /** Location of the event id: `header:x-acme-id` or `json:data.id`. */
  id: string;
  /** Location of the event type. Default: none, and every event has the type `unknown`. */
  type?: string | undefined;
  /**
   * Fields of the body that say which attempt of the sender it is, such as `attempt_number`: a
   * second delivery of an id that differs in them alone is a duplicate. Default: none.
   */
  attemptFields?: string[] | undefined;
}

/** Checks the options of `hmac()`; `HmacOptions` says what each of them means. */
export const hmacOptionsSchema = z
  .strictObject({
    header: headerName,
    algorithm: z.enum(["sha256", "sha1", "sha512"]).default("sha256"),
    encoding: z.enum(["hex", "base64", "base64url"]).default("hex"),
    prefix: z.string().default(""),
    key: z.enum(KEY_ENCODINGS).default("utf8"),
    message: z
      .string()
      .refine(isMessageTemplate, "must hold {body}, and {ts} or {id} at most once, in plain ASCII")
      .optional(),
    timestamp: z
      .strictObject({ header: headerName, unit: z.enum(["s", "ms"]).default("s") })
      .optional(),
    id: location,
    type: location.optional(),
    attemptFields: z.array(z.string().min(1)).optional(),
  })
  .superRefine((options, context) => {
    const message = options.message ?? "{body}";
    const issue = (path: string, text: string) =>
      context.addIssue({ code: "custom", path: [path], message: text });
    if (message.includes("{ts}") && options.timestamp === undefined) {
      issue("timestamp", "must name the header that {ts} in message stands for");
    }
    if (options.timestamp !== undefined && !message.includes("{ts}")) {
      issue("message", "must hold {ts}: a time that is not signed can be written by anyone");
    }
    if (message.includes("{id}") && options.id.kind !== "header") {
      issue("id", "must be a header when message holds {id}");
    }
    if (isIdUnbounded(message)) {
      issue("message", "must separate {id} from the text next to it, or its end can be moved");
    }
    // The headers that name an event are kept with it and shown.
    for (const path of ["id", "type"] as const) {
      const place = options[path];
      if (place?.kind !== "header") continue;
      if (place.name === options.header || CREDENTIALS.has(place.name)) {
        issue(path, "must not be the header of the signature or of a credential");
      }
    }
  });

export function parseHmacOptions(options: unknown) {
  return hmacOptionsSchema.safeParse(options, { error: plainWords });
}
