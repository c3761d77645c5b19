import { MillraceError, type Environment } from "@millrace/core";
import type { Credentials } from "./security/basic-auth.ts";

type Variables = Pick<Environment, "DASHBOARD_USER" | "DASHBOARD_PASSWORD">;

/**
 * The dashboard's user and password; undefined when neither is set.
 *
 * @throws `invalid_config` when only one is, or when the user holds a colon, which HTTP Basic
 * (RFC 7617) cannot carry.
 */
export function credentialsOf(environment: Variables): Credentials | undefined {
  const { DASHBOARD_USER: user, DASHBOARD_PASSWORD: password } = environment;
  if (user === undefined && password === undefined) return undefined;
  if (user === undefined || password === undefined) {
    const missing = user === undefined ? "DASHBOARD_USER" : "DASHBOARD_PASSWORD";
    throw new MillraceError(
      "invalid_config",
      `Cannot guard the dashboard: ${missing} is not set, and the other is`,
    );
  }
  if (user.includes(":")) {
    throw new MillraceError(
      "invalid_config",
      "Cannot guard the dashboard: DASHBOARD_USER holds a colon",
    );
  }
  return { user, password };
}
