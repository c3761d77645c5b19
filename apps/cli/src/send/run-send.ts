import { readFile } from "node:fs/promises";
import { MillraceError, type Config, type Provider } from "@millrace/core";
import { loadConfig, reasonOf } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { readSettings } from "../settings.ts";
import { createEvent, usualType, type EventRecipe, type OutgoingEvent } from "./create-event.ts";
import { findSecret } from "./find-secret.ts";
import { identifiedAs } from "./identified-as.ts";
import { ingressUrl } from "./ingress-url.ts";
import type { Override } from "./override-fields.ts";
import { createPoster } from "./post-delivery.ts";
import { sendMany } from "./send-many.ts";
import { sendOne } from "./send-one.ts";

/** What `millrace send` was asked for. */
export interface SendOptions {
  readonly id?: string;
  readonly count: number;
  readonly rate?: number;
  readonly duplicates: number;
  readonly concurrency: number;
  readonly data?: string;
  readonly set?: readonly Override[];
  readonly url?: string;
}

export interface SendRequest {
  readonly source: string;
  readonly type: string | undefined;
  readonly options: SendOptions;
}

/** Sends what was asked for. Gives the exit code. */
export async function runSend(
  context: CliContext,
  { source, type, options }: SendRequest,
): Promise<number> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  const provider = providerOf(config, source);
  const { env } = context;
  const secret = await findSecret(source, config, { env, dataDir: settings.dataDir });
  const url = await ingressUrl(source, options.url, settings);
  const recipe: EventRecipe = {
    provider,
    type: type ?? usualType(provider),
    id: options.id,
    data: options.data === undefined ? undefined : await readData(options.data, context),
    overrides: options.set ?? [],
  };

  const poster = createPoster(url, options.concurrency);
  const sign = (event: OutgoingEvent) => provider.sign({ ...event, secret, nowMs: Date.now() });
  const deliver = (event: OutgoingEvent) => poster.post(sign(event), event.body);
  try {
    if (options.count > 1 || options.duplicates > 0) {
      return await sendMany(recipe, deliver, { ...options, ...context });
    }
    const event = createEvent(recipe, 0);
    const names = identifiedAs(provider, event, sign(event));
    const heading = names.map((name) => `${source} ${name}\n`).join("");
    return await sendOne(() => deliver(event), { heading, stdout: context.stdout });
  } finally {
    poster.close();
  }
}

function providerOf(config: Config, source: string): Provider {
  const configured = Object.hasOwn(config.sources, source) ? config.sources[source] : undefined;
  if (configured !== undefined) return configured.provider;
  throw new MillraceError(
    "unknown_source",
    `Cannot send to "${source}": the config has ${Object.keys(config.sources).join(", ")}`,
  );
}

async function readData(file: string, context: CliContext): Promise<Buffer> {
  if (file === "-") return context.readStdin();
  try {
    return await readFile(file);
  } catch (error) {
    throw new MillraceError("invalid_request", `Cannot read the body: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
