import { settlesWithin, withDeadline } from "@millrace/core";
import type { AuditedFact } from "@millrace/ledger";
import type { Logger } from "@millrace/service";
import { Counter, type Registry } from "prom-client";
import type { DashboardLedger } from "../ports.ts";
import { GatheredFailures, SIGN_IN_FAILURES, type SignInFailure } from "./gathered-failures.ts";
import type { SessionOwner } from "./sessions.ts";

/** Where it stands who signed in, and who tried to. */
export interface SignInRecord {
  /** Resolves when the audit has it, or cannot have it soon: nobody waits outside for Postgres. */
  signedIn(owner: SessionOwner, network: string): Promise<void>;
  /** Counts a failure. The log and the audit get it with the others of its minute and network. */
  failed(failure: SignInFailure, network: string): void;
  /** Writes down what was gathered. */
  close(): Promise<void>;
}

interface Deps {
  readonly ledger: Pick<DashboardLedger, "audit">;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly onError: (error: unknown) => void;
}

const MINUTE_MS = 60_000;
/** The first failures after a quiet minute are written this soon. */
const BURST_MS = 1_000;
/** What signing in waits for the audit, at most. */
const RECORD_MS_MAX = 1_000;
/** What closing waits for it. */
const CLOSE_MS_MAX = 3_000;
/** Entries that are kept while Postgres is away. */
const UNWRITTEN_MAX = 200;

/**
 * Creates the record of sign-ins: `millrace_dashboard_sign_ins_total`, a line in the log, and entries in the
 * audit. Failures are gathered, and written at most once a minute.
 */
export function createSignInRecord({ ledger, logger, registry, onError }: Deps): SignInRecord {
  const signIns = createCounter(registry);
  let gathered: GatheredFailures | undefined;
  let unwritten: AuditedFact[] = [];
  let writtenMs = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function writeSoon(): void {
    const waitMs = Math.max(BURST_MS, writtenMs + MINUTE_MS - performance.now());
    timer ??= setTimeout(() => void (writing = write()), waitMs).unref();
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writtenMs = performance.now();
    if (gathered !== undefined) {
      logger.warn(gathered.summary(), "sign-ins failed");
      unwritten = [...unwritten, ...gathered.facts()].slice(-UNWRITTEN_MAX);
      gathered = undefined;
    }
    if (unwritten.length === 0) return;
    try {
      await ledger.audit.record(unwritten);
      unwritten = [];
    } catch (error) {
      onError(error);
      writeSoon();
    }
  }

  return {
    signedIn: async ({ user, role }, network) => {
      signIns.inc({ result: "signed_in" });
      logger.info({ user, network }, "signed in");
      const fact = {
        actor: user,
        role,
        via: "session",
        action: "sign_in",
        result: { network },
      } as const;
      const late = () => new Error(`the audit did not take a sign-in within ${RECORD_MS_MAX} ms`);
      await withDeadline(ledger.audit.record([fact]), RECORD_MS_MAX, late).catch(onError);
    },
    failed: (failure, network) => {
      signIns.inc({ result: failure });
      gathered ??= new GatheredFailures();
      gathered.add(failure, network);
      writeSoon();
    },
    close: async () => {
      clearTimeout(timer);
      const written = writing.then(write);
      await settlesWithin(written, CLOSE_MS_MAX);
      clearTimeout(timer);
    },
  };
}

/** Every result is there from the start, so that an alert sees the first one as an increase. */
function createCounter(registry: Registry) {
  const signIns = new Counter({
    name: "millrace_dashboard_sign_ins_total",
    help: "Sign-ins with a password, and wrong tokens, by what became of them.",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of ["signed_in", ...SIGN_IN_FAILURES]) signIns.inc({ result }, 0);
  return signIns;
}
