/**
 * Settings that our statements need, whatever the database or login has: results as the driver
 * reads them, null elements in arrays, and sessions that live as long as the pool wants.
 */
const PINNED = {
  datestyle: "ISO",
  extra_float_digits: "1",
  array_nulls: "on",
  exit_on_error: "off",
  statement_timeout: "0",
  idle_session_timeout: "0",
};

/** For the startup packet of a connection. A RESET ALL goes back to it. */
export const PINNED_OPTIONS = Object.entries(PINNED)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** For the BEGIN of a transaction behind a pooler, which takes no such packet. */
export const PINNED_LOCALLY = Object.entries(PINNED)
  .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
  .join("; ");
