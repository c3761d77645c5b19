import { MillraceError } from "@millrace/core";
import type { CompareOptions } from "./overviews.ts";
import { isLoopback } from "./security/check-host.ts";
import { weaknessOf, type Credentials } from "./security/credentials.ts";

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

/**
 * Refuses to open the dashboard to strangers.
 *
 * @throws `invalid_config` for any host but loopback without credentials, or with a password shorter
 * than 8 characters or a token shorter than 16.
 */
export function checkOptions({ host, credentials }: DashboardOptions): void {
  if (isLoopback(host)) return;
  const problem = weaknessOf(credentials ?? { accounts: [], tokens: [] });
  if (problem === undefined) return;
  throw new MillraceError("invalid_config", `Cannot open the dashboard on "${host}": ${problem}`);
}
