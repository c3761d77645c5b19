/**
 * Pending and failed events by source. Each half is written as its partial index has it, so that what
 * is completed, which is nearly all, is not read.
 */
export const COUNT_UNDONE = `
SELECT source, 'pending' AS status, count(*)::float8 AS events
FROM millrace.events WHERE status = 'pending' GROUP BY source
UNION ALL
SELECT source, 'failed' AS status, count(*)::float8 AS events
FROM millrace.events WHERE status = 'failed' GROUP BY source`;

/** Completed events by source: all of them are read, though not their bodies. */
export const COUNT_COMPLETED = `
SELECT source, count(*)::float8 AS events
FROM millrace.events WHERE status = 'completed' GROUP BY source`;
