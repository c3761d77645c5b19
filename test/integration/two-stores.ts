import { fileURLToPath } from "node:url";
import type { ConfigInput } from "@millrace/core";
import config from "../fixtures/two-stores/millrace.config.ts";
import { SECRET, signed } from "../intake/plain-config.ts";
import { sendTo } from "../intake/send-to.ts";
import type { ServerUrls } from "../support/server-urls.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

export const CONFIG = fileURLToPath(
  new URL("../fixtures/two-stores/millrace.config.ts", import.meta.url),
);
const SECRETS = Object.fromEntries(
  ["FAST", "SAFE", "QUIET", "NARROW", "LARGE"].map((name) => [`${name}_WEBHOOK_SECRET`, SECRET]),
);

interface Ingress {
  readonly url: string;
}

export function createTwoStorePipeline(
  urls: ServerUrls,
  {
    env = {},
    settings = {},
  }: { env?: Readonly<Record<string, string>>; settings?: Partial<ConfigInput> } = {},
): Promise<Pipeline> {
  const variables = { MILLRACE_CONFIG: CONFIG, ...SECRETS, ...env };
  return createPipeline(urls, variables, { ...config, ...settings });
}

export async function deliver(
  ingress: Ingress,
  source: string,
  event: Readonly<Record<string, unknown>>,
): Promise<{ readonly status: number }> {
  return await sendTo(Number(new URL(ingress.url).port), { source, ...signed(event) });
}

interface ReadyAnswer {
  readonly httpStatus: number;
  readonly status: string;
  readonly stores?: Readonly<Record<string, string>>;
  readonly parts: Readonly<Record<string, string>>;
}

export async function readiness(ingress: Ingress): Promise<ReadyAnswer> {
  const response = await fetch(`${ingress.url}/readyz`);
  const answer = (await response.json()) as Omit<ReadyAnswer, "httpStatus">;
  return { httpStatus: response.status, ...answer };
}

export async function untilReady(ingress: Ingress, status: string): Promise<ReadyAnswer> {
  return await until(async () => {
    const answer = await readiness(ingress);
    return answer.status === status ? answer : undefined;
  });
}
