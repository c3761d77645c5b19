import { isLoopback, MillraceError } from "@millrace/core";
import type { CompareOptions } from "./overviews.ts";
import { weaknessOf, type Credentials } from "./security/credentials.ts";

export interface DashboardOptions {
  readonly host: string;
  /** Further names of the dashboard, such as `dash.example.com`. */
  readonly hosts?: readonly string[];
  /** The number, addresses or networks of proxies whose `X-Forwarded-For` counts. Default: none. */
  readonly trustProxy?: number | readonly string[];
  /** Without credentials only loopback is listened on, and everybody is an operator. */
  readonly credentials?: Credentials | undefined;
  readonly compare?: CompareOptions;
  /** Milliseconds for running requests. Default 5,000. */
  readonly shutdownTimeoutMs?: number;
}

/** True when only this machine reaches the dashboard: on loopback, with no name of a proxy. */
export function isLocal({ host, hosts = [] }: Pick<DashboardOptions, "host" | "hosts">): boolean {
  return isLoopback(host) && hosts.length === 0;
}

/**
 * @throws `invalid_config` for a secret of fewer than 16 characters, and where other machines reach
 * the dashboard without credentials.
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
