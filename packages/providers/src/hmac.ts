import { parsePosition } from "@millrace/core";
import { z } from "zod";
import { defineProviderWith } from "./define-provider.ts";
import { ENCODINGS, KEY_ENCODINGS } from "./signature/prepare-secrets.ts";
import {
  checkMessage,
  headerName,
  HMACS,
  type SignatureOptions,
} from "./signature/signature-options.ts";
import { signature } from "./signature/signature.ts";

/** The signatures, names, and types of a custom sender: the options of `hmac()`. */
export interface HmacOptions extends Pick<SignatureOptions, "encoding" | "prefix"> {
  /** Header that holds the signature. */
  header: string;
  /** Hash function of the HMAC. Default: `sha256`. */
  algorithm?: "sha256" | "sha1" | "sha512" | undefined;
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

const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

const location = z
  .string()
  .refine(
    (text) => ["header", "json"].includes(parsePosition(text)?.kind ?? ""),
    "must be header:<name> or json:<path>, with names and indexes between dots and no *",
  );

/**
 * Checks the options of `hmac()`; `HmacOptions` says what each of them means.
 *
 * @internal
 */
export const hmacOptionsSchema = z
  .strictObject({
    header: headerName,
    algorithm: z.enum(HMACS).default("sha256"),
    encoding: z.enum(ENCODINGS).default("hex"),
    prefix: z.string().default(""),
    key: z.enum(KEY_ENCODINGS).default("utf8"),
    message: z.string().optional(),
    timestamp: z
      .strictObject({ header: headerName, unit: z.enum(["s", "ms"]).default("s") })
      .optional(),
    id: location,
    type: location.optional(),
    attemptFields: z.array(z.string().min(1)).optional(),
  })
  .superRefine(({ header, message = "{body}", timestamp, id, type }, context) => {
    const issue = (path: string, text: string) =>
      context.addIssue({ code: "custom", path: [path], message: text });
    checkMessage({ template: message, time: timestamp, name: "{id}" }, (path, text) =>
      issue(path === "time" ? "timestamp" : path, text),
    );
    if (message.includes("{id}") && !id.startsWith("header:")) {
      issue("id", "must be a header when message holds {id}");
    }
    // The headers that name an event are kept with it and shown.
    for (const [path, text] of Object.entries({ id, type })) {
      const place = parsePosition(text ?? "");
      if (place?.kind === "header" && [header, ...CREDENTIALS].includes(place.name)) {
        issue(path, "must not be the header of the signature or of a credential");
      }
    }
  });

/**
 * Events of a sender of your own, or of one that Millrace does not know yet: an HMAC in a header,
 * over the body or over a template of it.
 *
 * ```ts
 * acme: hmac({
 *   header: "x-acme-signature", prefix: "sha256=", id: "json:id", type: "json:type",
 *   timestamp: { header: "x-acme-time" }, message: "{ts}.{body}",
 * })
 * ```
 *
 * The config that it stands in is refused with every problem at once.
 */
export const hmac = defineProviderWith<HmacOptions>("hmac", hmacOptionsSchema, (options) => {
  const { id, type, timestamp, attemptFields, message = "{body}", ...signing } = options;
  return {
    verify: signature({
      ...signing,
      message: message.replace("{id}", `{${id}}`),
      time: timestamp,
    }),
    id,
    ...(type !== undefined && { type }),
    typeIsOptional: true,
    idIsSigned: id.startsWith("json:") || message.includes("{id}"),
    ...(attemptFields && { attemptFields }),
  };
});
