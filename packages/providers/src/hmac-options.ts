import { MillraceError } from "@millrace/core";
import { z } from "zod";
import { parseLocation } from "./identity/locator.ts";
import { KEY_ENCODINGS } from "./signature/key-encoding.ts";
import { isIdUnbounded, isMessageTemplate } from "./signature/message-template.ts";

const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be a header's name")
  .toLowerCase();
const CREDENTIALS = new Set(["authorization", "cookie", "proxy-authorization"]);

const location = z.string().transform((text, context) => {
  const found = parseLocation(text);
  if (found !== undefined) return found;
  context.addIssue({ code: "custom", message: "must be header:<name> or json:<path>" });
  return z.NEVER;
});

/** How a custom sender signs, names and types its events. */
export const hmacOptionsSchema = z
  .strictObject({
    /** The header that holds the signature. */
    header: headerName,
    /** The hash of the HMAC. */
    algorithm: z.enum(["sha256", "sha1", "sha512"]).default("sha256"),
    /** How the signature is written. */
    encoding: z.enum(["hex", "base64", "base64url"]).default("hex"),
    /** Text before the signature in its header: `sha256=`. */
    prefix: z.string().default(""),
    /** How the secret becomes the key's bytes; base64 takes it with or without `whsec_`. */
    key: z.enum(KEY_ENCODINGS).default("utf8"),
    /** What is signed, with `{body}`, and `{ts}` or `{id}` where the sender signs them too. */
    message: z
      .string()
      .refine(isMessageTemplate, "must hold {body}, and {ts} or {id} at most once, in plain ASCII")
      .optional(),
    /** The header of the signed time, and its unit. Without it old deliveries are taken too. */
    timestamp: z
      .strictObject({ header: headerName, unit: z.enum(["s", "ms"]).default("s") })
      .optional(),
    /** Where the event's id is: `header:x-acme-id` or `json:data.id`. */
    id: location,
    /** Where its type is; events are of the type `unknown` without it. */
    type: location.optional(),
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
      issue("message", "must part {id} from what stands beside it, or its end can be moved");
    }
    // What names an event is kept with it and shown.
    for (const path of ["id", "type"] as const) {
      const place = options[path];
      if (place?.kind !== "header") continue;
      if (place.name === options.header || CREDENTIALS.has(place.name)) {
        issue(path, "must not be the header of the signature or of a credential");
      }
    }
  });

export type HmacOptions = z.input<typeof hmacOptionsSchema>;

/** @throws `invalid_config` with every problem at once. */
export function parseHmacOptions(options: unknown): z.output<typeof hmacOptionsSchema> {
  const parsed = hmacOptionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(
    (problem) => `  ${problem.path.join(".") || "(options)"}: ${problem.message}`,
  );
  throw new MillraceError("invalid_config", `Cannot use hmac({...}):\n${lines.join("\n")}`);
}
