import {
  withDeadline,
  type Delivery,
  type Refusal,
  type Verification,
  type Verifier,
} from "@millrace/core";

/** A sender waits seconds for its answer, which must leave time to store the event. */
const TIMEOUT_MS = 1_000;
const IN_FLIGHT_MAX = 20;

/** Beyond both limits, the sender is asked to deliver again. A synchronous provider stays so. */
export class Verifications {
  readonly #verifier: Verifier;
  #inFlight = 0;

  constructor(verifier: Verifier) {
    this.#verifier = verifier;
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

const UNAVAILABLE: Refusal = {
  ok: false,
  code: "unavailable",
  message: "Cannot verify the delivery now. Send again later",
};
