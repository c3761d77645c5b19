import { MillraceError } from "@millrace/core";
import type { SignatureAlgorithm, SigningKey } from "./signature-algorithm.ts";

/**
 * Makes each live secret ready. A secret that is empty verifies whatever anyone signs, so none
 * such is let through. The message says which form is right and never quotes what was set.
 *
 * @throws `missing_secret` when there is none, or with the place of the first that is no secret.
 */
export function prepareSecrets(
  secrets: readonly string[],
  { prepare, secretForm }: Pick<SignatureAlgorithm, "prepare" | "secretForm">,
): SigningKey[] {
  if (secrets.length === 0) throw missing("there is no secret");
  return secrets.map((secret: unknown, index) => {
    const which = secrets.length === 1 ? "the secret" : `secret ${index + 1} of ${secrets.length}`;
    if (typeof secret !== "string" || secret.trim() === "") throw missing(`${which} is empty`);
    if (secret.trim() !== secret) throw missing(`${which} has white space round it`);
    const key = prepare(secret);
    if (key === undefined) {
      throw missing(`${which} is malformed or too short, it must be ${secretForm}`);
    }
    return key;
  });
}

function missing(state: string): MillraceError {
  return new MillraceError("missing_secret", `Cannot verify deliveries: ${state}`);
}
