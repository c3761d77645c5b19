import { reasonOf } from "@millrace/service";

/** One thing that was looked at. */
export interface Check {
  readonly name: "postgres" | "schema" | "queue" | "epochs" | "reconciler";
  /** `unknown` when it could not be looked at. */
  readonly state: "ok" | "bad" | "unknown";
  readonly detail: string;
}

type Seen = Pick<Check, "state" | "detail">;

/** Looks at one thing; what is thrown says that it could not be told, and why. */
export async function check(name: Check["name"], look: () => Promise<Seen>): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "unknown", detail: reasonOf(error) };
  }
}

export const ok = (detail: string): Seen => ({ state: "ok", detail });
export const bad = (detail: string): Seen => ({ state: "bad", detail });
