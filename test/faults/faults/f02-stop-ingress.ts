import type { Fault } from "./fault.ts";

/** F2: an ingress is told to stop under load, as a deploy does, and comes back. */
export const stopIngress: Fault = {
  id: "F2",
  title: "SIGTERM of an ingress under load",
  uses: ["ingress"],
  ways: {
    sigterm: async ({ stage, random }) => {
      const role = random.pick(stage.ingresses);
      const code = await role.end("SIGTERM");
      if (code !== 0) throw new Error(`${role.name} exited with ${code} on SIGTERM`);
      stage.strike("F2", `${role.name} stopped`);
      await role.start();
    },
  },
};
