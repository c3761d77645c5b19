import { isLoopback, MillraceError } from "@millrace/core";
import type { CompareOptions } from "./overviews.ts";
import { weaknessOf, type Credentials } from "./security/credentials.ts";

export interface DashboardOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Further names that the dashboard is reached by, such as `dash.example.com`. */
  readonly hosts?: readonly string[];
  /**
   * Who is believed about `X-Forwarded-For`: so many proxies in front, or these addresses and
   * networks. Default: nobody, and a client's address is that of its connection.
   */
  readonly trustProxy?: number | readonly string[];
  /** Who may come in; without them only loopback is listened on, and everybody is an operator. */
  readonly credentials?: Credentials | undefined;
  /** The settings of the comparison of ledger and queues. Default: those of the config. */
  readonly compare?: CompareOptions;
  /** Milliseconds that running requests may take while it stops. Default 5,000. */
  readonly shutdownTimeoutMs?: number;
}

/** True when only this machine reaches the dashboard: on loopback, with no name of a proxy. */
export function isLocal({ host, hosts = [] }: Pick<DashboardOptions, "host" | "hosts">): boolean {
  return isLoopback(host) && hosts.length === 0;
}

/**
 * Refuses weak credentials, and to open the dashboard to strangers.
 *
 * @throws `invalid_config` for a password or token of fewer than 16 characters, and where other
 * machines reach the dashboard without credentials.
 */
export function checkOptions(options: DashboardOptions): void {
  const { host, hosts = [], credentials } = options;
  const isEmpty = !credentials?.accounts.length && !credentials?.tokens.length;
  const weakness = credentials && weaknessOf(credentials);
  const problem = isEmpty && !isLocal(options) ? NO_CREDENTIALS : weakness;
  if (problem === undefined) return;
  const name = isLoopback(host) ? `as "${hosts.join(", ")}" (DASHBOARD_HOSTS)` : `on "${host}"`;
  const where = isLocal(options) ? "" : ` ${name}`;
  throw new MillraceError("invalid_config", `Cannot open the dashboard${where}: ${problem}`);
}

const NO_CREDENTIALS =
  "DASHBOARD_USER and DASHBOARD_PASSWORD are not set, and neither is DASHBOARD_TOKENS, so anyone " +
  "could retry events there";
