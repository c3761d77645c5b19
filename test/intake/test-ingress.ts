import type { ConfigInput } from "@millrace/core";
import { createIngress } from "@millrace/ingress";
import type { IntakeNotice } from "@millrace/intake";
import { createLogger, createRegistry } from "@millrace/service";
import { onTestFinished } from "vitest";
import { toBytes } from "../bad-input/wire.ts";
import { createMemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS, signed } from "./plain-config.ts";
import { connect, type RawConnection } from "./raw-connection.ts";

export type TestIngress = Awaited<ReturnType<typeof startTestIngress>>;

export async function startTestIngress(
  limits: ConfigInput["ingress"] = {},
  config = plainConfig(limits),
) {
  const store = createMemoryStore();
  const notices: IntakeNotice[] = [];
  const registry = createRegistry({ role: "ingress" });
  const ingress = createIngress({
    config,
    secrets: SECRETS,
    stores: [store],
    logger: createLogger({ role: "ingress", level: "silent" }),
    registry,
    notify: (notice) => notices.push(notice),
  });
  const port = await ingress.listen({ port: 0, host: "127.0.0.1" });
  const connections: RawConnection[] = [];
  onTestFinished(async () => {
    for (const each of connections) each.abort();
    await ingress.close();
  });
  return {
    port,
    store,
    notices,
    metrics: () => registry.metrics(),
    metric: async (beginning: string) => {
      const lines = (await registry.metrics()).split("\n");
      const line = lines.find((candidate) => candidate.startsWith(beginning));
      return Number(line?.split(" ").at(-1) ?? 0);
    },
    open: async (count: number) => {
      const made = await Promise.all(Array.from({ length: count }, () => connect(port)));
      connections.push(...made);
      return made;
    },
    close: () => ingress.close(),
  };
}

export function rawRequest(data: unknown, source = "plain"): string {
  const { body, headers } = signed(data);
  return toBytes({
    source,
    headers: Object.entries(headers),
    body: Buffer.from(body),
  }).toString();
}
