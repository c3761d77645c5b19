/** Settings that the driver, our arrays and the pool's sessions need, whatever a login has. */
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

/** For the begin of a transaction behind a pooler, which takes no such packet. */
export const PINNED_LOCALLY = Object.entries(PINNED).map(
  ([name, value]) => `SET LOCAL ${name} = ${value}`,
);
