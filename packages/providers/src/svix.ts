import { defineProvider } from "./define-provider.ts";
import samples from "./samples/svix.json" with { type: "json" };
import { standardSignature, type Scheme } from "./signature/signature.ts";
import type { Locator } from "./identity/locations.ts";

const SVIX: Scheme = standardSignature("base64", "svix");
const STANDARD: Scheme = standardSignature("base64");

/** The id of the form that was verified: the other's header may hold anything. */
const id: Locator = (reader) =>
  reader.header(SVIX.isPresent(reader.delivery) ? "svix-id" : "webhook-id");

/**
 * Events of senders that deliver through Svix: Standard Webhooks with headers of its own, or with
 * the standard's. Identity: `svix-id`; type: the body's `type` or `event_type`.
 *
 * Source: https://docs.svix.com/receiving/verifying-payloads/how-manual.
 */
export const svix = defineProvider({
  name: "svix",
  idPrefix: "msg_",
  verify: [SVIX, STANDARD],
  id,
  type: ["json:type", "json:event_type"],
  typeIsOptional: true,
  idIsSigned: true,
  repeatsDays: 5,
  secretPrefix: "whsec_",
  keptHeaders: ["content-type", "svix-id", "svix-timestamp", "webhook-id", "webhook-timestamp"],
  samples,
});
