import { eventHistory, eventRow } from "@millrace/api-contract";

// Columns are named as in the contract. One that no migration has made fails every read.

const columnsOf = ({ shape }: { readonly shape: object }, table: string): string =>
  Object.keys(shape)
    .map((name) => `${table}.${name}`)
    .join(", ");

const { attempt_log, conflicts, generations, same_message, emitted } = eventHistory.shape;

export const EVENT_COLUMNS = columnsOf(eventRow, "e");
export const GENERATION_COLUMNS = columnsOf(generations.element, "e");
export const SAME_MESSAGE_COLUMNS = columnsOf(same_message.shape.events.element, "e");
export const EMITTED_COLUMNS = columnsOf(emitted.shape.events.element, "e");
export const ATTEMPT_COLUMNS = columnsOf(attempt_log.element, "a");
/** Without `kept`, which is no column. */
export const CONFLICT_COLUMNS = columnsOf(conflicts.element.omit({ kept: true }), "c");
