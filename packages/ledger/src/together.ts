import type pg from "pg";

/**
 * Sends statements together on a pipelined connection, waits until every one is answered, and throws
 * the first error. On a connection that is not pipelined they go one by one.
 */
export async function together(
  client: pg.PoolClient,
  queries: readonly pg.QueryConfig[],
): Promise<pg.QueryResult[]> {
  if (!client.pipeline) return await oneByOne(client, queries);
  // All of them are awaited even after an error, so that the connection's state is known.
  const { stream } = client.connection;
  stream.cork();
  const sent = queries.map((query) => client.query(query));
  stream.uncork();
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  });
}

async function oneByOne(
  client: pg.PoolClient,
  queries: readonly pg.QueryConfig[],
): Promise<pg.QueryResult[]> {
  const answers: pg.QueryResult[] = [];
  for (const query of queries) answers.push(await client.query(query));
  return answers;
}
