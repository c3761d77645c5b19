import { BODY_CANARY, SECRET_CANARY } from "../bad-input/senders.ts";
import type { FuzzCase } from "./cases.ts";
import type { Played } from "./play.ts";
import { readResponses, type Response } from "../bad-input/responses.ts";

/** What is wrong with what became of a case; nothing in the best of cases. */
export function judge(fuzzCase: FuzzCase, played: Played): readonly string[] {
  const { all, rest } = readResponses(played.received);
  const statuses = all.map(({ status }) => status);
  const wrong: string[] = [];
  if (played.end === "silent") wrong.push("neither answered nor ended in time");
  if (!"HTTP/1.1 ".startsWith(rest.slice(0, 9))) wrong.push("what came back is no answer");
  if (statuses.some((status) => status >= 500 && status !== 503)) wrong.push("a 5xx but 503");
  if (all.some((response) => !isWellFormed(response)))
    wrong.push("an error that is not in our form");
  for (const canary of [BODY_CANARY, SECRET_CANARY]) {
    if (played.received.includes(canary)) wrong.push(`${canary} in an answer`);
  }
  if (fuzzCase.verdict === "accepted") {
    // A 503 is an answer, and the sender retries; the ledger shows whether it kept its word.
    const refused = statuses.filter((status) => status >= 300 && status !== 503);
    if (refused.length > 0) wrong.push(`a right request was answered ${refused.join()}`);
    if (all.length !== fuzzCase.answers) wrong.push(`${fuzzCase.answers} answers were due`);
  }
  if (fuzzCase.verdict === "refused" && statuses.some((status) => status < 300)) {
    wrong.push("a wrong request was accepted");
  }
  return wrong;
}

/** Every error has its code; only a HEAD is answered without a body. */
function isWellFormed({ status, body }: Response): boolean {
  if (status < 400) return true;
  if (body === "") return status === 405;
  try {
    return typeof (JSON.parse(body) as { error?: { code?: unknown } }).error?.code === "string";
  } catch {
    return false;
  }
}
