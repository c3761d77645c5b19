import { reasonOf } from "@millrace/service";

/** What is looked at, in this order. */
export type CheckName =
  | "config"
  | "handlers"
  | "secrets"
  | "roles"
  | "ports"
  | "postgres"
  | "schema"
  | "your tables"
  | "queue"
  | "clocks"
  | "epochs"
  | "reconciler";

/** One thing that was looked at. */
export interface Check {
  readonly name: CheckName;
  /** `note` is worth knowing and no fault; `unknown` could not be looked at. */
  readonly state: "ok" | "note" | "bad" | "unknown";
  readonly detail: string;
  /** How to mend what is bad. */
  readonly mend?: string | undefined;
}

type Seen = Omit<Check, "name">;

/** Looks at one thing; what is thrown says that it could not be told, and why. */
export async function check(name: CheckName, look: () => Promise<Seen> | Seen): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "unknown", detail: reasonOf(error) };
  }
}

export const ok = (detail: string): Seen => ({ state: "ok", detail });
export const note = (detail: string): Seen => ({ state: "note", detail });
export const bad = (detail: string, mend?: string): Seen => ({ state: "bad", detail, mend });
