import type { SignRequest, Verifier } from "@millrace/core";

/** How deliveries are signed and verified: what a provider is made of, with `Identify`. */
export interface Scheme {
  /** @throws `missing_secret` for none, an empty or a malformed one; the message never holds it. */
  createVerifier(secrets: readonly string[], options?: { toleranceMs?: number }): Verifier;
  /**
   * The headers that carry the signature, and whatever else is signed.
   *
   * @throws `missing_secret` for an empty or a malformed one.
   */
  sign(request: SignRequest): Record<string, string>;
}
