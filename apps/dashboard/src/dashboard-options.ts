import { MillraceError } from "@millrace/core";
import type { CompareOptions } from "./create-overviews.ts";
import { isLoopback } from "./security/check-host.ts";
import type { Credentials } from "./security/principal.ts";

export interface DashboardOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Further names that the dashboard is reached by, such as `dash.example.com`. */
  readonly hosts?: readonly string[];
  /** Who may come in; without them only loopback is listened on, and everybody is an operator. */
  readonly credentials?: Credentials | undefined;
  /** How ledger and queues are compared; default: as the config's defaults have it. */
  readonly compare?: CompareOptions;
  /** Milliseconds that requests under way may take while it stops. Default 5,000. */
  readonly shutdownTimeoutMs?: number;
}

/** Guesses are slowed down to ten a minute and address, and so may not be too few. */
const PASSWORD_LENGTH_MIN = 8;
/** A token is made by a machine, and nobody has to remember it. */
const TOKEN_LENGTH_MIN = 16;

/**
 * Refuses to open the dashboard to strangers.
 *
 * @throws `invalid_config` for any host but loopback without credentials, or with a password shorter
 * than 8 characters or a token shorter than 16.
 */
export function checkOptions({ host, credentials }: DashboardOptions): void {
  if (isLoopback(host)) return;
  const problem = problemOf(credentials);
  if (problem === undefined) return;
  throw new MillraceError("invalid_config", `Cannot open the dashboard on "${host}": ${problem}`);
}

function problemOf({ accounts, tokens }: Credentials = { accounts: [], tokens: [] }) {
  if (accounts.length + tokens.length === 0) {
    return (
      "DASHBOARD_USER and DASHBOARD_PASSWORD are not set, nor is DASHBOARD_TOKEN, and anyone could " +
      "retry events there"
    );
  }
  const weak = accounts.find(({ password }) => password.length < PASSWORD_LENGTH_MIN);
  if (weak !== undefined) {
    return `the password of the ${weak.role} is shorter than ${PASSWORD_LENGTH_MIN} characters`;
  }
  const short = tokens.find(({ token }) => token.length < TOKEN_LENGTH_MIN);
  if (short === undefined) return undefined;
  return `a token of the ${short.role} is shorter than ${TOKEN_LENGTH_MIN} characters`;
}
