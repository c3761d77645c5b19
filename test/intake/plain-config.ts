import { fileURLToPath } from "node:url";
import { parseConfig, type Config, type ConfigInput, type SourceOptions } from "@millrace/core";
import { plainProvider, SIGNATURE, sign } from "./plain-provider.ts";

export const SECRET = "a-plain-secret";
export const SECRETS = { plain: [SECRET], large: [SECRET], chatty: [SECRET, "the-next-secret"] };

/** Of an ingress in a process of its own. */
export const VARIABLES = {
  MILLRACE_CONFIG: fileURLToPath(new URL("./fixture/millrace.config.ts", import.meta.url)),
  PLAIN_WEBHOOK_SECRET: SECRET,
  HOST: "127.0.0.1",
  INGRESS_PORT: "0",
};

export function plainConfig(
  ingress: ConfigInput["ingress"] = {},
  policy: SourceOptions = {},
): Config {
  return parseConfig({
    sources: {
      plain: { provider: plainProvider(), options: policy },
      large: { provider: plainProvider(), options: { ...policy, bodyBytesMax: 1_048_576 } },
      chatty: {
        provider: plainProvider({
          accepted: { status: 200, headers: { "X-Taken": "yes" }, body: "[accepted]" },
          duplicate: { status: 204, body: "" },
        }),
        options: { ...policy, bodyBytesMax: 100 },
      },
    },
    // The ingress must never call it.
    handlers: () => {
      throw new Error("handlers were loaded");
    },
    ingress: { answerTimeoutMs: 1_000, ...ingress },
  });
}

export function signed(
  data: unknown,
  secret: string = SECRET,
): { body: string; headers: Record<string, string> } {
  const body = typeof data === "string" ? data : JSON.stringify(data);
  return { body, headers: { "content-type": "application/json", [SIGNATURE]: sign(body, secret) } };
}
