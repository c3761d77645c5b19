import { expect } from "vitest";

interface Shown {
  readonly kind: string;
  readonly count: number;
  readonly examples: readonly { source: string; job_id: string; detail: string }[];
}

export async function readDisagreement(
  { url }: { readonly url: string },
  kind: string,
): Promise<Shown | undefined> {
  const answer = await fetch(`${url}/api/disagreements`);
  expect(answer.status).toBe(200);
  const { kinds } = (await answer.json()) as { kinds: Shown[] };
  return kinds.find((each) => each.kind === kind);
}
