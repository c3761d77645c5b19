import { abandonEvent } from "../claims/abandon-event.ts";
import { emitAlerts } from "../claims/emit.ts";
import { findGivenUpJobs } from "../people/give-up.ts";
import { adoptLedger, keepIdentity, readIdentity, serverEpoch } from "./identity.ts";
import { ledgerStatuses, pendingPage } from "./ledger-status.ts";
import { markEnqueued, unmarkEnqueued } from "./mark-enqueued.ts";
import { countPass, readEpochs, writeEpochs } from "./queue-epochs.ts";

export const repair = {
  pendingPage,
  ledgerStatuses,
  markEnqueued,
  unmarkEnqueued,
  abandonEvent,
  emitAlerts,
  readEpochs,
  writeEpochs,
  countPass,
  serverEpoch,
  readIdentity,
  keepIdentity,
  adoptLedger,
  findGivenUpJobs,
};
