import type { Delivery, Refusal, Verification } from "@millrace/core";
import { headerOf, isHeaderText, textToHeader } from "../headers.ts";
import { refuse } from "../refuse.ts";
import { compileTemplate, type MessageParts, type MessageTemplate } from "./message-template.ts";
import { prepareSecrets } from "./prepare-secrets.ts";
import type { Scheme } from "./scheme.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";
import type { SignatureFormat, WrittenSignature } from "./signature-format.ts";
import {
  checkAge,
  readTimestamp,
  TOLERANCE_MS,
  writeTimestamp,
  type TimestampUnit,
} from "./timestamp.ts";

/** A signature in a header over a message that is made of the delivery. */
export interface SignatureSchemeOptions {
  readonly algorithm: SignatureAlgorithm;
  readonly format: SignatureFormat;
  /** The header that holds the signature. */
  readonly header: string;
  /** What is signed: `{id}.{ts}.{body}`. */
  readonly message: string;
  /** The header that `{id}` stands for. */
  readonly idHeader?: string | undefined;
  /** Where `{ts}` stands: in a header of its own, or beside the signature (no header). */
  readonly timestamp?: { readonly header?: string; readonly unit: TimestampUnit } | undefined;
}

/** The scheme of most senders: constant time over the raw bytes, against each live secret. */
export function signatureScheme(options: SignatureSchemeOptions): Scheme {
  const { algorithm, format, header, idHeader, timestamp } = options;
  const template = compileTemplate(options.message);

  return {
    createVerifier(secrets, { toleranceMs = TOLERANCE_MS } = {}) {
      const keys = prepareSecrets(secrets, algorithm);
      return {
        verify(delivery): Verification {
          const value = headerOf(delivery, header);
          if (value === undefined || value === "") return badSignature(`${header} is missing`);
          const written = format.read(value);
          const signatures = written.candidates.flatMap((text) => algorithm.decode(text) ?? []);
          if (signatures.length === 0) return badSignature(`${header} holds no signature`);

          const parts = readParts(delivery, written, options, template);
          if ("code" in parts) return parts;
          const message = template.build(parts);
          if (!keys.some((key) => key.accepts(message, signatures))) {
            return badSignature(`${header} matches no live secret`);
          }
          // Last, so that invalid_timestamp always means a real delivery that is old, or a clock.
          if (timestamp === undefined) return { ok: true };
          return checkAge(parts.tsMs, delivery.receivedAtMs, toleranceMs);
        },
      };
    },

    sign(request) {
      const [key] = prepareSecrets([request.secret], algorithm);
      const ts = timestamp === undefined ? "" : writeTimestamp(request.nowMs, timestamp.unit);
      const id = textToHeader(request.eventId);
      const signature = key?.sign(template.build({ id, ts, body: request.body })) ?? "";
      return {
        ...(idHeader !== undefined && { [idHeader]: id }),
        ...(timestamp?.header !== undefined && { [timestamp.header]: ts }),
        [header]: format.write(signature, ts),
      };
    },
  };
}

/** Finds what the message is made of, or says why it cannot be made. */
function readParts(
  delivery: Delivery,
  written: WrittenSignature,
  options: SignatureSchemeOptions,
  template: MessageTemplate,
): (MessageParts & { readonly tsMs: number }) | Refusal {
  const ts = readTs(delivery, written, options.timestamp);
  if ("code" in ts) return ts;
  const id = template.usesId ? headerOf(delivery, options.idHeader ?? "") : "";
  if (id === undefined || (template.usesId && id === "")) {
    return badId(`the header ${options.idHeader} is missing`);
  }
  // "a.b" with the time 1 signs the same bytes as "a" with the time "b.1".
  if (template.usesId && !(template.isBounded(id) && isHeaderText(id))) {
    return badId("it holds a character that no id of this sender may hold");
  }
  return { id, ts: ts.text, tsMs: ts.ms, body: delivery.body };
}

function readTs(
  delivery: Delivery,
  written: WrittenSignature,
  rule: SignatureSchemeOptions["timestamp"],
): { readonly text: string; readonly ms: number } | Refusal {
  if (rule === undefined) return { text: "", ms: 0 };
  const found = rule.header === undefined ? written.timestamps : [headerOf(delivery, rule.header)];
  const [text] = found;
  if (text === undefined || text === "") return badTimestamp("it is missing");
  if (found.length > 1) return badTimestamp("it is there more than once");
  const ms = readTimestamp(text, rule.unit);
  return ms === undefined ? badTimestamp("it is not a whole number of its unit") : { text, ms };
}

const badSignature = (state: string): Refusal =>
  refuse("invalid_signature", `Cannot verify the delivery: ${state}`);
const badTimestamp = (state: string): Refusal =>
  refuse("invalid_timestamp", `Cannot read the signed timestamp: ${state}`);
const badId = (state: string): Refusal =>
  refuse("invalid_event_id", `Cannot read the event id: ${state}`);
