import { MillraceError } from "@millrace/core";
import type { Credentials } from "./security/basic-auth.ts";
import { isLoopback } from "./security/check-host.ts";

export interface DashboardOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Further names that the dashboard is reached by, such as `dash.example.com`. */
  readonly hosts?: readonly string[];
  /** The one user; without it only loopback is listened on. */
  readonly credentials?: Credentials | undefined;
  /** Milliseconds that requests under way may take while it stops. Default 5,000. */
  readonly shutdownTimeoutMs?: number;
}

/**
 * Refuses to open the dashboard to strangers.
 *
 * @throws `invalid_config` for any host but loopback without credentials.
 */
export function checkOptions(options: DashboardOptions): void {
  if (options.credentials !== undefined || isLoopback(options.host)) return;
  throw new MillraceError(
    "invalid_config",
    `Cannot open the dashboard on "${options.host}": ` +
      "DASHBOARD_USER and DASHBOARD_PASSWORD are not set, and anyone could retry events there",
  );
}
