import { describeBehindPgbouncer, describeOnSlowDisk } from "../support/describe-on-servers.ts";
import { describeOnRedis } from "../support/redis.ts";
import { strikeEach } from "./start-fault-test.ts";

// Faults that need servers of their own; a file apart from the others, which it can run beside.

describeOnRedis("a failover of Postgres to a standby that is behind, ledger first", () =>
  strikeEach({ backend: "redis", ack: "ledger" }, ["F32"]),
);
describeBehindPgbouncer("faults of a PgBouncer", () =>
  strikeEach({ backend: "redis", ack: "queue", setUp: "pooled" }, ["F33"]),
);
describeOnRedis("faults of Redis behind Sentinel", () =>
  strikeEach({ backend: "redis", ack: "queue", setUp: "sentinel" }, ["F34"]),
);
describeOnSlowDisk("a Redis killed on a slow disk", () =>
  strikeEach({ backend: "redis", ack: "queue", setUp: "slow disk" }, ["F35"]),
);
