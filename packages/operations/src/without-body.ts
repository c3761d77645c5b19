import type { EventIdentity } from "@millrace/ledger";

const NO_BODY = new Uint8Array();

/** An event as its job needs it when the ledger has the body: the identity alone, on either backend. */
export const withoutBody = (event: EventIdentity) => ({ ...event, headers: {}, body: NO_BODY });
