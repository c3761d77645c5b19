import { breakWays } from "./break-ways.ts";
import type { Fault, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** F16: BEGIN or ROLLBACK fails, or the way to Postgres is a black hole, slow, cut or refused. */
export const hangPostgres: Fault = {
  id: "F16",
  title: "BEGIN or ROLLBACK cut; Postgres a black hole, slow, cut or refused",
  uses: ["postgres"],
  ways: {
    begin: cutAt("BEGIN"),
    rollback: cutAt("ROLLBACK"),
    ...breakWays("F16", "Postgres", ({ ground }) => ground.toPostgres),
  },
};

function cutAt(statement: string): Way {
  return async ({ stage }) => {
    const way = stage.ground.toPostgres.worker;
    const before = way.struck;
    way.cutBefore(statement);
    if (await reached(() => way.struck > before)) stage.strike("F16", `cut at ${statement}`);
  };
}
