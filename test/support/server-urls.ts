/** Where the servers of a suite are. */
export interface ServerUrls {
  readonly databaseUrl: string;
  /** Undefined where the queue is on Postgres. */
  readonly redisUrl?: string | undefined;
}

/** The variables that name them to a role or a command. */
export function environmentOf({ databaseUrl, redisUrl }: ServerUrls) {
  return { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
}
