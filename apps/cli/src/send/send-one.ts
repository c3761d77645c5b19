import type { Output } from "../context.ts";
import { printable } from "../printable.ts";
import type { Reply } from "./post-delivery.ts";
import { readVerdict } from "./read-verdict.ts";
import { sendAll } from "./send-all.ts";

/** Makes one delivery, and shows what was answered. Gives the exit code. */
export async function sendOne(
  deliver: () => Promise<Reply>,
  { heading, stdout }: { heading: string; stdout: Output },
): Promise<number> {
  const replies: Reply[] = [];
  const plan = { total: 1, concurrency: 1, ratePerSecond: undefined };
  await sendAll(plan, deliver, (reply) => replies.push(reply));
  const [reply] = replies;
  if (reply === undefined) return 1;
  stdout.write(`${heading}${words(reply)}\n`);
  return typeof readVerdict(reply) === "string" ? 0 : 1;
}

function words(reply: Reply): string {
  if (reply.kind === "no_answer") return `no answer: ${reply.reason}`;
  return `${reply.status} ${printable(reply.body.trim())} (${reply.ms.toFixed(1)} ms)`;
}
