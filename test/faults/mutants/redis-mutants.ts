import type { Mutant } from "./mutant.ts";

const DURABILITY = "packages/queue/src/redis-durability.ts";

/** Mistakes in what is believed of a Redis that answers. */
export const REDIS_MUTANTS: readonly Mutant[] = [
  {
    name: "WAIT is sent, and what it answers is ignored",
    edits: [{ file: DURABILITY, from: "(having) => having >= replicas,", to: "() => true," }],
    trials: [{ suites: ["test/redis/replicas.test.ts"] }],
  },
  {
    name: "a slow disk is seen only when Redis itself counts a delayed fsync",
    edits: [
      {
        file: DURABILITY,
        from: 'Number(info.get("aof_pending_bio_fsync") ?? 0) > 0 &&',
        to: 'Number(info.get("aof_pending_bio_fsync") ?? 0) > 9 &&',
      },
    ],
    trials: [{ suites: ["test/redis/slow-disk.test.ts"] }],
  },
  {
    name: "READONLY leaves the connection where it is",
    edits: [
      {
        file: "packages/queue/src/redis-address.ts",
        from: "DEMOTED.test(message)",
        to: "DEMOTED.test(message) && false",
      },
    ],
    trials: [{ suites: ["test/redis/replicas.test.ts"] }],
  },
];
