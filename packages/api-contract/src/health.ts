import { z } from "zod";
import { count, instant, text, type Wire } from "./values.ts";

const healthItem = z.strictObject({
  id: z.enum([
    "redis",
    "postgres",
    "event_store",
    "leader",
    "disagreements",
    "oldest_waiting",
    "paused",
    "open_runs",
    "refused",
  ]),
  level: z
    .enum(["ok", "warn", "bad", "unknown"])
    .describe("`unknown` where it was not found out in time; never good or bad news."),
  text: text("One line for people."),
  detail: text("More, such as the reason of a failure; null where there is none.").nullable(),
});
/** One thing that is well or not. */
export type HealthItem = Wire<typeof healthItem>;

export const health = z.strictObject({
  checked_at: instant(),
  items: z.array(healthItem),
  open_errors: count("Groups of equal errors that are open, at most 100.").nullable(),
});
export type Health = Wire<typeof health>;
