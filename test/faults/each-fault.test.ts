import { describe } from "vitest";
import { describeOnRedis } from "../support/redis.ts";
import { ALL, QUICK, strikeEach } from "./start-fault-test.ts";

if (!ALL) {
  process.stdout.write(
    `Struck are ${QUICK.length} ways of faults; npm run test:nightly strikes every one, npm run faults mixes them\n`,
  );
}
describeOnRedis("one fault after the other, queue on Redis, queue first", () =>
  strikeEach({ backend: "redis", ack: "queue" }),
);
if (ALL) {
  describeOnRedis("a Postgres that is restored, queue first", () =>
    strikeEach({ backend: "redis", ack: "queue" }, ["F28"]),
  );
  describeOnRedis("one fault after the other, queue on Redis, ledger first", () =>
    strikeEach({ backend: "redis", ack: "ledger" }),
  );
}
describe("one fault after the other, queue on Postgres", () =>
  strikeEach({ backend: "postgres", ack: "ledger" }));
