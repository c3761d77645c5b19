import type { DeliveryHead, SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { firstOf, json } from "./identity/delivery-reader.ts";
import { randomWhsec } from "./random-text.ts";
import { svixSamples } from "./samples/standard-webhooks-samples.ts";
import { eitherScheme, standardScheme } from "./signature/signature-scheme.ts";
import { keysIn } from "./signature/prepare-secrets.ts";

/**
 * Senders that deliver through Svix (Clerk and Resend among them): Standard Webhooks with headers
 * of its own, `svix-id`, `svix-timestamp` and `svix-signature`, or with the standard's.
 *
 * Source: https://docs.svix.com/receiving/verifying-payloads/how-manual.
 */
const provider = defineProvider({
  name: "svix",
  scheme: eitherScheme({
    first: standardScheme(keysIn("base64"), "svix"),
    second: standardScheme(keysIn("base64")),
    isSecond: isStandard,
  }),
  identify: identifyOne({
    // The id of the form that was verified: the other's header may hold anything.
    id: (reader) => reader.header(isStandard(reader.delivery) ? "webhook-id" : "svix-id"),
    type: firstOf(json("type"), json("event_type")),
    typeIsOptional: true,
  }),
  idIsSigned: true,
  repeatsDays: 5,
  secretPrefix: "whsec_",
  keptHeaders: ["content-type", "svix-id", "svix-timestamp", "webhook-id", "webhook-timestamp"],
  samples: svixSamples,
  generateSecret: randomWhsec,
});

/** Identity: `svix-id`; type: the body's `type` or `event_type`. */
export function svix<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, never> {
  return { provider, options };
}

function isStandard({ headers }: DeliveryHead): boolean {
  return headers["svix-signature"] === undefined && headers["webhook-signature"] !== undefined;
}
