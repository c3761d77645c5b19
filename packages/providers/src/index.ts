/**
 * Providers: how each kind of sender signs, names and types its deliveries.
 * A provider is a table of facts (`senders/`) on two things: a signature scheme
 * (`signature/`), which verifies the raw bytes in constant time against each live secret, and
 * `identify` (`identity/`), which finds event id and type where the provider documents them.
 * Data flows one way: delivery → `Verifier.verify` → `identify` → events, or a handshake's answer.
 * Pure functions but for a user's own `verify`: no I/O, no clock, no state. The caller passes the
 * time that a signed timestamp is compared with. To sign is for tests and `millrace send` only.
 */
export { echo } from "./answers.ts";
export {
  defineProvider,
  type AnswerChallenge,
  type ProviderParts,
  type SourceFactory,
} from "./define-provider.ts";
export { digest, type Location, type Locator } from "./identity/locations.ts";
export { jwt, type JwtOptions } from "./signature/jwt.ts";
export { signature } from "./signature/signature.ts";
export type { SignatureOptions } from "./signature/signature-options.ts";
export {
  StaleTimestamp,
  Unavailable,
  type VerifyFunction,
  type VerifyRequest,
} from "./signature/verify-function.ts";
export { internal, type InternalOptions } from "./internal.ts";
export * from "./senders.ts";
export * as senders from "./senders.ts";
