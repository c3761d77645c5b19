import { MillraceError, type Provider } from "@millrace/core";
import { newEventId } from "@millrace/providers";
import { overrideFields, type Override } from "./override-fields.ts";

/** What to send, the same for all events of one call. */
export interface EventRecipe {
  readonly provider: Provider;
  readonly type: string;
  /** The event's id; with several events the others get `-2`, `-3`, ... behind it. */
  readonly id: string | undefined;
  /** A body instead of the provider's sample. */
  readonly data: Buffer | undefined;
  readonly overrides: readonly Override[];
}

/** An event that is ready to be signed and posted. */
export interface OutgoingEvent {
  readonly eventId: string;
  readonly type: string;
  readonly body: Buffer;
}

/** Makes the event of a number, counted from 0. */
export function createEvent(recipe: EventRecipe, index: number): OutgoingEvent {
  const eventId = idOf(recipe, index);
  return { eventId, type: recipe.type, body: bodyOf(recipe, eventId) };
}

/**
 * The type that is sent when none is named: the provider's usual one.
 *
 * @throws `invalid_event_type` when the provider has no samples.
 */
export function usualType(provider: Provider): string {
  const [usual] = provider.sampleTypes;
  if (usual !== undefined) return usual;
  throw new MillraceError(
    "invalid_event_type",
    `Cannot choose a type: ${provider.name} has no sample events. Name one`,
  );
}

function idOf({ id, provider }: EventRecipe, index: number): string {
  if (id === undefined) return newEventId(provider);
  return index === 0 ? id : `${id}-${index + 1}`;
}

function bodyOf({ provider, type, data, overrides }: EventRecipe, eventId: string): Buffer {
  // Given bytes go out as they are, unless a field is to be set in them.
  if (data !== undefined && overrides.length === 0) return data;
  const text = data?.toString() ?? provider.sample({ eventId, type, nowMs: Date.now() });
  return Buffer.from(overrideFields(text, overrides));
}
