import type { AnswerOf } from "@millrace/api-contract";
import { MillraceError, type EventLookup } from "@millrace/core";
import { giveUpEvent } from "@millrace/operations";
import { eventNotFound } from "./event-json.ts";

/**
 * Gives one event up for the API.
 *
 * @throws `event_not_found`, `not_pending`, `event_running` when it was not given up.
 */
export async function giveUpOne(
  deps: Parameters<typeof giveUpEvent>[0],
  lookup: EventLookup,
): Promise<AnswerOf<"post /events/:source/:eventId/give-up">> {
  switch (await giveUpEvent(deps, lookup)) {
    case "given_up":
      return { given_up: 1 };
    case "not_found":
      throw eventNotFound(lookup.eventId);
    case "not_pending":
      throw new MillraceError(
        "not_pending",
        "Cannot give the event up: it is already completed or failed",
      );
    case "running":
      throw new MillraceError(
        "event_running",
        "Cannot give the event up: its handler is running. Ask again when the attempt has ended",
      );
  }
}
