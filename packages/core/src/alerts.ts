import { z } from "zod";
import type { Handler } from "./handler.ts";
import { on } from "./on.ts";

export const ALERTS_SOURCE = "millrace";

/** An incident in words for people. The `data` of an event of the source `millrace`. */
export interface Alert {
  /** `error.opened`, `error.reopened`, `source.failing`, `source.behind`, `source.refused`, ... */
  readonly kind: string;
  /** Names the incident among those of its kind: a source, the fingerprint of an error, ... */
  readonly key: string;
  /** One line. */
  readonly title: string;
  readonly details: readonly string[];
  /** The page of the dashboard, where `DASHBOARD_URL` is set. */
  readonly url?: string | undefined;
}

/** Sends alerts to people: `alertTo.slack()`, or one of your own. */
export interface AlertChannel {
  readonly name: string;
  /** The address or key, if the config has it; the variable of that name otherwise. */
  readonly target: string | undefined;
  readonly variable: string;
  /** @throws to have the alert sent again later */
  send(alert: Alert, to: { readonly target: string; readonly signal: AbortSignal }): Promise<void>;
}

export const alertsSchema = z
  .array(
    z.custom<AlertChannel>(
      (value) => typeof Reflect.get(Object(value), "send") === "function",
      "must come from alertTo, such as alertTo.slack(), or have name, variable, and send",
    ),
  )
  .readonly()
  .default([]);

type Variables = Readonly<Record<string, string | undefined>>;

export function missingTargets(channels: readonly AlertChannel[], env: Variables): string[] {
  const without = channels.filter((channel) => targetOf(channel, env) === undefined);
  return without.map(({ name, variable }) => `${name}: set ${variable}`);
}

const targetOf = ({ target, variable }: AlertChannel, env: Variables) =>
  target || env[variable] || undefined;

/** Sends each alert to each channel once: a channel that fails does not repeat the others. */
export function alertHandlers(channels: readonly AlertChannel[], env: Variables): Handler[] {
  if (channels.length === 0) return [];
  const handler = on(ALERTS_SOURCE, "*", {
    call: async ({ data }, { once, signal }) => {
      const sent = channels.map((channel, index) =>
        once(`${channel.name} ${index + 1}`, async () => {
          await channel.send(data, { target: targetOf(channel, env) ?? "", signal });
        }),
      );
      await Promise.allSettled(sent);
      await Promise.all(sent);
    },
  });
  return [handler];
}
