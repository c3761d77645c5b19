import type { Config, IncomingEvent } from "@millrace/core";
import { guardPlace } from "./guarded-place.ts";
import { keepDelivery, type Kept } from "./keep-delivery.ts";
import type { Notify } from "./notice.ts";
import { placeTimeoutMs } from "./place-timeout.ts";
import { createPlacer } from "./placer.ts";
import { createPlaces, type Places } from "./places.ts";
import type { DurablePlace, RedeliveryPort } from "./ports.ts";
import type { ReadySource } from "./ready-sources.ts";
import { createRedeliver } from "./redeliver.ts";

interface Deps {
  readonly config: Pick<Config, "ingress">;
  readonly places: readonly DurablePlace[];
  readonly redelivery?: RedeliveryPort | undefined;
  readonly notify: Notify;
}

/** Keeps the events of deliveries, over the durable places of a process. */
export interface Keeper {
  keep(source: ReadySource, events: readonly IncomingEvent[]): Promise<Kept>;
  readonly inForce: Places["inForce"];
  /** Each durable place by name; resolves when it answers, and shuts one that does not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  close(): void;
}

/** A place that answers probes and refuses events is asked again so often, if there is another one. */
const REST_MS = 250;

export function createKeeper(deps: Deps, options: { callsMax?: number }): Keeper {
  const { batchMax, inFlightBytesMax, answerTimeoutMs } = deps.config.ingress;
  const timeoutMs = placeTimeoutMs(deps.config.ingress, deps.places.length);
  const restMs = deps.places.length > 1 ? REST_MS : 0;
  const guarded = deps.places.map((place) =>
    guardPlace(place, deps.notify, { timeoutMs, strayBytesMax: inFlightBytesMax / 4, restMs }),
  );
  const placing = { batchMax, callsMax: options.callsMax ?? 1, timeoutMs };
  const places = createPlaces(guarded.map((place) => createPlacer(place, placing)));
  const keeping = {
    places,
    redeliver: deps.redelivery && createRedeliver(deps.redelivery, deps.notify),
    notify: deps.notify,
    timeoutMs: answerTimeoutMs,
  };
  return {
    keep: (source, events) => keepDelivery(source, events, keeping),
    inForce: places.inForce,
    checks: Object.fromEntries(guarded.map(({ name, check }) => [name, check])),
    close: () => guarded.forEach((place) => place.close()),
  };
}
