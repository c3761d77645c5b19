import {
  MillraceError,
  type DeliveryHead,
  type Provider,
  type SourceDefinition,
  type SourceOptions,
} from "@millrace/core";
import { OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { firstOf, json, type Locator } from "./identity/delivery-reader.ts";
import { randomHex, randomWhsec } from "./random-text.ts";
import { digitsOf } from "./samples/define-samples.ts";
import { hookMeshSamples } from "./samples/hook-mesh-samples.ts";
import { eitherScheme, signatureScheme, standardScheme } from "./signature/signature-scheme.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { KEY_ENCODINGS, readKey, type KeyEncoding, keysIn } from "./signature/prepare-secrets.ts";
import type { KeyReader } from "./signature/signature-algorithm.ts";
import { plainSignature } from "./signature/signature-format.ts";

export interface HookMeshOptions<Type extends string = string> extends SourceOptions<Type> {
  /**
   * The way from the secret to a key. Hook Mesh's pages show both a `whsec_` secret and 64
   * hexadecimal digits and do not say which bytes sign; unset, each reading that fits the secret
   * verifies.
   */
  readonly key?: KeyEncoding;
}

/**
 * Events of Hook Mesh, in both of its documented forms: `webhook-id`, `-timestamp` and `-signature`
 * as Standard Webhooks has them, and `x-hookmesh-signature` with the HMAC-SHA256 of the body in
 * hexadecimal. The second has no signed time; the `timestamp` in its body is when the event
 * happened, which a retry two days later keeps, so it is not held against the clock.
 *
 * Identity: the body's `event_id`, or `webhook-id` where that is signed and the body has none;
 * type: `event_type`, or `unknown` in a body without Hook Mesh's envelope. It is always answered
 * 200, as Hook Mesh documents.
 *
 * Source: Hook Mesh's pages on webhook signatures and on idempotency.
 *
 * @throws `invalid_config` for a `key` that is no encoding.
 */
export function hookMesh<Type extends string = string>(
  options: HookMeshOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "payload"> {
  const { key, ...policy } = options;
  if (key !== undefined && !KEY_ENCODINGS.includes(key)) {
    const known = KEY_ENCODINGS.join(", ");
    throw new MillraceError("invalid_config", `Cannot use hookMesh({ key }): it is not ${known}`);
  }
  return { provider: providerOf(key), options: policy };
}

function providerOf(key: KeyEncoding | undefined): Provider<"payload"> {
  const keys = key === undefined ? anyKey : keysIn(key);
  const standard = standardScheme(keys);
  return defineProvider({
    name: "hook-mesh",
    scheme: eitherScheme({
      first: {
        ...standard,
        sign: (request) => standard.sign({ ...request, eventId: jobIdOf(request.eventId) }),
      },
      second: signatureScheme({
        algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys }),
        format: plainSignature(),
        header: "x-hookmesh-signature",
        message: "{body}",
      }),
      isSecond: isBodyForm,
    }),
    // The body must be JSON: `<id>.<time>.<body>` of one form would be a body in the other.
    identify: identifyOne({
      id: firstOf(json("event_id"), signedId),
      type: json("event_type"),
      typeIsOptional: true,
    }),
    idIsSigned: true,
    repeatsDays: 2,
    dataField: "payload",
    keptHeaders: ["content-type", "webhook-id", "webhook-timestamp"],
    answers: OK_ANSWERS,
    samples: hookMeshSamples,
    generateSecret: key === "hex" ? randomHex : randomWhsec,
  });
}

/** The form that signs the body alone: it has its own header and not the other's. */
function isBodyForm({ headers }: DeliveryHead): boolean {
  return (
    headers["webhook-signature"] === undefined && headers["x-hookmesh-signature"] !== undefined
  );
}

// In the form that signs the body alone anyone could add the header.
const signedId: Locator = (reader) =>
  isBodyForm(reader.delivery) ? "missing" : reader.header("webhook-id");

// A job's id is another thing than the event's, which may hold what no header can.
function jobIdOf(eventId: string): string {
  return /^[A-Za-z0-9_-]{1,128}$/.test(eventId) ? eventId : `job_${digitsOf(eventId, "job", 16)}`;
}

// Whatever has 32 hexadecimal digits, or is the base64 of 16 bytes, is text of 8 bytes too.
const anyKey: KeyReader = {
  read: (secret) => {
    const encodings: readonly KeyEncoding[] = secret.startsWith("whsec_")
      ? ["base64", "utf8"]
      : ["utf8", "hex"];
    return encodings.flatMap((encoding) => readKey(secret, encoding) ?? []);
  },
  form: keysIn("utf8").form,
};
