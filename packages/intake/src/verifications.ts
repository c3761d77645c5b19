import {
  MillraceError,
  providerOfTenant,
  withDeadline,
  type Delivery,
  type DeliveryHead,
  type Refusal,
  type Source,
  type Verification,
  type Verifier,
} from "@millrace/core";

/** A sender waits seconds for its answer, which must leave time to store the event. */
const TIMEOUT_MS = 1_000;
const IN_FLIGHT_MAX = 20;

/** @throws `missing_secret` */
export function createVerifications(
  { provider, options: { toleranceMs } }: Source,
  secrets: readonly string[],
  tenant?: string,
): Verifications {
  // Providers refuse these too. A source that anyone can sign for must not depend on one check.
  if (secrets.length === 0) throw new MillraceError("missing_secret", "it has no secret");
  if (provider.needsSecret !== false && secrets.some((secret) => secret.trim() === "")) {
    throw new MillraceError("missing_secret", "it has an empty secret");
  }
  const ofTenant = providerOfTenant(provider, tenant);
  return new Verifications(ofTenant.createVerifier(secrets, { toleranceMs }));
}

/** Beyond both limits, the sender is asked to deliver again. A synchronous provider stays so. */
export class Verifications {
  readonly #verifier: Verifier;
  #inFlight = 0;

  constructor(verifier: Verifier) {
    this.#verifier = verifier;
  }

  precheck(head: DeliveryHead, readMs: number): Refusal | undefined {
    return this.#verifier.precheck?.(head, readMs);
  }

  verify(delivery: Delivery): Verification | Promise<Verification> {
    if (this.#inFlight >= IN_FLIGHT_MAX) return UNAVAILABLE;
    const verification = this.#verifier.verify(delivery);
    return verification instanceof Promise ? this.#inTime(verification) : verification;
  }

  async #inTime(verification: Promise<Verification>): Promise<Verification> {
    this.#inFlight += 1;
    const late = new Error("The provider did not verify the delivery in time");
    try {
      return await withDeadline(verification, TIMEOUT_MS, () => late);
    } catch (error) {
      if (error !== late) throw error;
      return { ...UNAVAILABLE, error };
    } finally {
      this.#inFlight -= 1;
    }
  }
}

export const UNAVAILABLE: Refusal = {
  ok: false,
  code: "unavailable",
  message: "Cannot verify the delivery now. Send again later",
};
