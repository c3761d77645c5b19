import type { Delivery } from "@millrace/core";
import type { Scheme } from "./scheme.ts";

/** Two ways that one sender signs, chosen by the delivery; it signs in the first. */
export function eitherScheme(options: {
  first: Scheme;
  second: Scheme;
  isSecond: (delivery: Delivery) => boolean;
}): Scheme {
  const { first, second, isSecond } = options;
  return {
    createVerifier(secrets, verifierOptions) {
      const one = first.createVerifier(secrets, verifierOptions);
      const other = second.createVerifier(secrets, verifierOptions);
      return { verify: (delivery) => (isSecond(delivery) ? other : one).verify(delivery) };
    },
    sign: first.sign,
  };
}
