export interface ServerUrls {
  readonly databaseUrl: string;
  /** Undefined where the queue is on Postgres. */
  readonly redisUrl?: string | undefined;
}

export function environmentOf({ databaseUrl, redisUrl }: ServerUrls) {
  return { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
}
