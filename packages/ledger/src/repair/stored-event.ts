/** A row `e` of events as its job's `EnvelopedEvent`, in JSON, without body and headers. */
export const eventColumn = (e: string, generation = `${e}.generation`) => `
  json_strip_nulls(json_build_object(
    'source', ${e}.source, 'eventId', ${e}.event_id, 'generation', ${generation}, 'type', ${e}.type,
    'acceptedAtMs', floor(extract(epoch FROM ${e}.received_at) * 1000), 'bodyHash', ${e}.body_hash,
    'headers', '{}'::json, 'unsigned', ${e}.unsigned,
    'digest', CASE ${generation} WHEN 0 THEN ${e}.digest END
  )) AS event`;
