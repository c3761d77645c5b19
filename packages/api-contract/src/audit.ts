import { z } from "zod";
import { count, instant, text, type Wire } from "./values.ts";

/** A viewer looks; an operator also retries, replays, pauses and resumes. */
const ROLES = ["operator", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** Through what the dashboard is asked: a page's session, a program's token, an open loopback. */
const DASHBOARD_VIAS = ["session", "token", "local"] as const;

export const principal = z.strictObject({
  user: text(
    "The user, or the name of a program's token. Null where no credentials are set.",
  ).nullable(),
  role: z.enum(ROLES),
  via: z.enum(DASHBOARD_VIAS),
});
export type Principal = Wire<typeof principal>;

const sessionEntry = z.strictObject({
  id: text("What ends it is named by this; it opens nothing."),
  user: text(),
  role: z.enum(ROLES),
  network: text("Where it was signed in from: an IPv4 address, or the /64 of an IPv6 address."),
  started_at: instant(),
  seen_at: instant("When it was last used, to within ten seconds."),
  expires_at: instant(),
});
export type SessionEntry = Wire<typeof sessionEntry>;

export const sessionList = z.strictObject({ sessions: z.array(sessionEntry) });

const anything = z.record(z.string(), z.unknown());

const auditEntry = z.strictObject({
  id: text(),
  at: instant(),
  actor: text("The user, or the name of a program's token, if one is known.").nullable(),
  role: z.enum([...ROLES, "none"]).describe("`none`: nobody who may come in."),
  via: z.enum([...DASHBOARD_VIAS, "cli", "board"]),
  action: text(
    "`retry`, `replay`, `give_up`, `edit`, `retry_many`, `replay_many`, `give_up_many`, `pause`, `resume`, `sign_in`, `sign_in_failed`, " +
      "`read_body`, `set_error_state`, `end_session` and others.",
  ),
  source: text().nullable(),
  event_id: text().nullable(),
  generation: count().nullable(),
  filter: anything.nullable().describe("What was asked for, of many events."),
  reason: text().nullable(),
  result: anything.nullable().describe("Null while it is done, or when nobody could say."),
});
export type AuditEntry = Wire<typeof auditEntry>;

export const auditPage = z.strictObject({
  entries: z.array(auditEntry),
  next: text("The cursor of the next page; null on the last one.").nullable(),
});
export type AuditPage = Wire<typeof auditPage>;
