import { expect } from "vitest";

/** What the dashboard shows of one kind of disagreement between ledger and queues. */
interface Shown {
  readonly kind: string;
  readonly count: number;
  readonly examples: readonly { source: string; job_id: string; detail: string }[];
}

/** Reads what the dashboard shows of a kind; undefined before it has compared. */
export async function readDisagreement(
  { url }: { readonly url: string },
  kind: string,
): Promise<Shown | undefined> {
  const answer = await fetch(`${url}/api/disagreements`);
  expect(answer.status).toBe(200);
  const { kinds } = (await answer.json()) as { kinds: Shown[] };
  return kinds.find((each) => each.kind === kind);
}
