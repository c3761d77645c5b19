export interface ServerUrls {
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
}

export function environmentOf({ databaseUrl, redisUrl }: ServerUrls) {
  return { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
}
