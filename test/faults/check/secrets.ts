import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CANARIES } from "../load/secrets.ts";
import type { Evidence, Finding } from "./evidence.ts";

/** I11: no key, credential or body stands in a log, an error, a metric, or where it has no business. */
export async function checkSecrets({ environment, queues }: Evidence): Promise<Finding[]> {
  const { body, ...never } = CANARIES;
  const names = (await readdir(environment.folder)).filter((name) =>
    /^[a-z]+-\d+\.log$/.test(name),
  );
  const logs = await Promise.all(
    names.map((name) => readFile(join(environment.folder, name), "utf8")),
  );
  const { rows } = await environment.database.query(
    `select coalesce(string_agg(last_error, e'\\n'), '') || e'\\n' ||
       (select coalesce(string_agg(message, e'\\n'), '') from millrace.attempts) as text
     from millrace.events`,
  );
  const metrics = await Promise.all(
    environment.roles
      .filter(({ up }) => up)
      .map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
  );
  const everywhere = { logs: logs.join("\n"), errors: rows[0].text, metrics: metrics.join("\n") };
  return [
    ...search(everywhere, Object.values(CANARIES)),
    ...search({ queue: queues.text }, Object.values(never)),
    ...(mayHoldBodies(environment) ? [] : search({ queue: queues.text }, [body])),
  ];
}

// A source that puts events on the queue first has their bodies there; so has one that fell back to it.
function mayHoldBodies({ ack, backend, struck }: Evidence["environment"]): boolean {
  return backend === "redis" && (ack === "queue" || struck.size > 0);
}

function search(texts: Readonly<Record<string, string>>, canaries: readonly string[]): Finding[] {
  return Object.entries(texts).flatMap(([where, text]) =>
    canaries
      .filter((canary) => text.includes(canary))
      .map((canary) => ({
        invariant: "I11 SECRETS",
        text: `${where}: holds the canary ${canary.slice(0, 16)}...`,
      })),
  );
}
