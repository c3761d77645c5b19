import type { Fault, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** F15: the connection is cut when COMMIT is on its way: nobody knows whether it was done. */
export const cutCommit: Fault = {
  id: "F15",
  title: "Postgres cut at COMMIT, before or after the server has it",
  uses: ["postgres"],
  ways: { after: cut("after"), before: cut("before") },
};

function cut(when: "after" | "before"): Way {
  return async ({ stage, random }) => {
    const way = stage.ground.toPostgres.worker;
    for (let n = random.between(1, 4); n > 0; n -= 1) {
      const before = way.struck;
      if (when === "after") way.cutAfter("COMMIT");
      else way.cutBefore("COMMIT");
      if (!(await reached(() => way.struck > before))) return;
      stage.strike("F15", `cut ${when} a COMMIT came`);
    }
  };
}
