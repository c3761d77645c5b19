import {
  PostgresQueueBackend,
  type BackendFactory,
  type PostgresConnection,
  type RedisQueueBackend,
} from "bullmq";

/** BullMQ's types name the Redis backend by default; nothing uses it through them. */
export function shareConnection(
  connection: PostgresConnection,
  workers: Set<PostgresQueueBackend>,
): BackendFactory<RedisQueueBackend> {
  const factory: BackendFactory<PostgresQueueBackend, never> = (name, options, extra) => {
    const backend = new PostgresQueueBackend(connection, name, options, false);
    if (extra?.withBlockingConnection === true) workers.add(backend);
    return backend;
  };
  return factory as unknown as BackendFactory<RedisQueueBackend>;
}

/** All workers subscribe on the one LISTEN connection, and pg takes one statement at a time. */
export function queryInTurn(connection: PostgresConnection): void {
  const seen = new WeakSet<object>();
  const getListenClient = connection.getListenClient.bind(connection);
  connection.getListenClient = async () => {
    const client = await getListenClient();
    if (seen.has(client)) return client;
    seen.add(client);
    const query = client.query.bind(client);
    let last: Promise<unknown> = Promise.resolve();
    client.query = (text, params) => {
      const next = last.then(() => query(text, params));
      last = Promise.allSettled([next]);
      return next;
    };
    return client;
  };
}
