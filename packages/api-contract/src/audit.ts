import { z } from "zod";
import { count, instant, text, type Wire } from "./values.ts";

/** A viewer looks; an operator also retries, replays, pauses and resumes. */
const ROLES = ["operator", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** Through what the dashboard is asked: a page's session, a program's token, an open loopback. */
const DASHBOARD_VIAS = ["session", "token", "local"] as const;

export const principal = z.strictObject({
  user: text("Null for a program, and where no credentials are set.").nullable(),
  role: z.enum(ROLES),
  via: z.enum(DASHBOARD_VIAS),
});
/** Who asks the dashboard. */
export type Principal = Wire<typeof principal>;

const anything = z.record(z.string(), z.unknown());

const auditEntry = z.strictObject({
  id: text(),
  at: instant(),
  actor: text("The user, if one is known.").nullable(),
  role: z.enum(ROLES),
  via: z.enum([...DASHBOARD_VIAS, "cli", "board"]),
  action: text("`retry`, `replay`, `retry_many`, `replay_many`, `pause`, `resume` and others."),
  source: text().nullable(),
  event_id: text().nullable(),
  generation: count().nullable(),
  filter: anything.nullable().describe("What was asked for, of many events."),
  reason: text().nullable(),
  result: anything.nullable().describe("Null while it is done, or when nobody could say."),
});
/** Who did what, when and why. */
export type AuditEntry = Wire<typeof auditEntry>;

export const auditPage = z.strictObject({
  entries: z.array(auditEntry),
  next: text("The cursor of the next page; null on the last one.").nullable(),
});
export type AuditPage = Wire<typeof auditPage>;
