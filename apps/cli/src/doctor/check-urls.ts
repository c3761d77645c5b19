import { sessionFinding } from "@millrace/connect";
import { connectionHint, type DatabaseVariable } from "@millrace/core";
import { createPool, findPooler, type Pooler } from "@millrace/ledger";
import { reasonOf } from "@millrace/service";
import type { Stores } from "../stores.ts";
import { bad, checkIfAny, ok, type Check, type Seen } from "./report.ts";

type Pool = ReturnType<typeof createPool>;

/** What Postgres is named by besides `DATABASE_URL`. */
type Urls = Pick<Stores, "redisUrl" | "sessionUrl"> & {
  readonly retentionUrl: string | undefined;
};

/**
 * Whether what needs a session has connections that no pooler shares: the retention, and queues on
 * Postgres. Only where one of them has a URL of its own, or a pooler stands before Postgres.
 */
export function checkSession(pool: Pool, urls: Urls): Promise<readonly Check[]> {
  return checkIfAny("session", async () => {
    const { retentionUrl, sessionUrl, redisUrl } = urls;
    const ofSession = ["DATABASE_SESSION_URL", sessionUrl] as const;
    const ofRetention = ["RETENTION_DATABASE_URL", retentionUrl] as const;
    const [forQueue = PRIMARY] = [ofSession].filter(isSet);
    const [forRetention = PRIMARY] = [ofRetention, ofSession].filter(isSet);
    const users = [
      { who: "the retention", named: forRetention, suffers: (is: Pooler) => is === "transaction" },
      ...(redisUrl === undefined
        ? [{ who: "the queue", named: forQueue, suffers: (is: Pooler) => is !== "none" }]
        : []),
    ];
    const seen = new Map<string, Pooler>();
    for (const { who, named, suffers } of users) {
      const [variable, url] = named;
      const pooler = seen.get(variable) ?? (await ask(url));
      if (typeof pooler !== "string") return unreachable(pooler.error, variable);
      seen.set(variable, pooler);
      if (!suffers(pooler)) continue;
      const { detail, fix } = sessionFinding(who, variable);
      return bad(detail, fix);
    }
    const others = [...seen.keys()].filter((variable) => variable !== "DATABASE_URL");
    return others.length === 0 ? undefined : ok(`by ${others.join(" and ")}`);

    async function ask(url: string | undefined): Promise<Pooler | { error: unknown }> {
      const find = (of: Pool) => findPooler(of).catch((error: unknown) => ({ error }));
      return url === undefined ? await find(pool) : await withPool(url, find);
    }
  });
}

type Named = readonly [variable: DatabaseVariable, url: string | undefined];
const PRIMARY: Named = ["DATABASE_URL", undefined];
const isSet = ([, url]: Named): boolean => url !== undefined;

function unreachable(error: unknown, variable: DatabaseVariable): Seen {
  return { state: "unknown", detail: reasonOf(error), fix: connectionHint(error, variable) };
}

async function withPool<Answer>(
  url: string,
  work: (pool: Pool) => Promise<Answer>,
): Promise<Answer> {
  const pool = createPool({ url, max: 2, applicationName: "millrace-doctor" });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
