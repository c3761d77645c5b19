import type { Placement } from "@millrace/core";
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { ADD_ANSWERS, ADD_KEYS } from "./add-script.ts";
import type { AddOptions, NewJob } from "./backend.ts";
import type { RedisScript } from "./redis-script.ts";

/** Jobs in one run of the script, during which Redis serves nobody else: some ten milliseconds. */
const CHUNK = 250;

/** Adds jobs, and learns what was known of them, in one command. */
export async function addByScript(
  { client, script }: { client: Redis; script: RedisScript },
  queue: Queue,
  jobs: readonly NewJob[],
  { exact }: AddOptions,
): Promise<readonly Placement[]> {
  const keys = ADD_KEYS.map((name) => queue.toKey(name));
  const head = [queue.toKey(""), String(Date.now()), exact ? "1" : "0"];
  const answers: unknown[] = [];
  for (let at = 0; at < jobs.length; at += CHUNK) {
    const chunk = jobs.slice(at, at + CHUNK).flatMap(toArguments);
    answers.push(...((await script.run(client, keys, [...head, ...chunk])) as unknown[]));
  }
  return jobs.map((_, index) => toPlacement(answers[index]));
}

function toArguments({ id, name, data }: NewJob): string[] {
  return [id, name, data.body_hash, JSON.stringify(data)];
}

function toPlacement(answer: unknown): Placement {
  if (typeof answer !== "number") return replyError(messageOf(String(answer)));
  return ADD_ANSWERS[answer] ?? new Error(`Cannot add the job: an unknown answer ${answer}`);
}

/** What Redis said of one job, as ioredis throws what it says of a whole command. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError" });
}

/** Older servers say where in the script it happened before what happened. */
function messageOf(error: string): string {
  return error.replace(/^@?user_script:\s?\d+:\s*/, "").replace(/^-/, "");
}
