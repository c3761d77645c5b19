import { settlesWithin, withDeadline } from "@millrace/core";
import type { AuditedFact, Ledger } from "@millrace/ledger";
import { metricsOf, type Logger } from "@millrace/service";
import type { Registry } from "prom-client";
import type { SessionOwner } from "./sessions.ts";

const FAILURES = ["wrong_password", "wrong_token", "too_many_failures"] as const;
export type SignInFailure = (typeof FAILURES)[number];

export type SignInRecord = ReturnType<typeof createSignInRecord>;

interface Deps {
  readonly ledger: Pick<Ledger, "audit">;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly onError: (error: unknown) => void;
}

const MINUTE_MS = 60_000;
/** The first failures after a quiet minute are written this soon. */
const BURST_MS = 1_000;
const RECORD_MS_MAX = 1_000;
const CLOSE_MS_MAX = 3_000;
/** Kept while Postgres is away. */
const UNWRITTEN_MAX = 200;

export function createSignInRecord({ ledger, logger, registry, onError }: Deps) {
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
      const result = gathered.summary();
      logger.warn(result, "sign-ins failed");
      unwritten = [...unwritten, failureEntry(result)].slice(-UNWRITTEN_MAX);
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
    /** Resolves after a second at most: a sign-in does not need Postgres. */
    signedIn: async ({ user, role }: SessionOwner, network: string): Promise<void> => {
      signIns.inc({ result: "signed_in" });
      logger.info({ user, network }, "signed in");
      const who = { actor: user, role, via: "session" } as const;
      const recorded = ledger.audit.record([{ ...who, action: "sign_in", result: { network } }]);
      const late = () => new Error(`the audit did not take a sign-in within ${RECORD_MS_MAX} ms`);
      await withDeadline(recorded, RECORD_MS_MAX, late).catch(onError);
    },
    failed: (failure: SignInFailure, network: string): void => {
      signIns.inc({ result: failure });
      gathered ??= new GatheredFailures();
      gathered.add(failure, network);
      writeSoon();
    },
    close: async (): Promise<void> => {
      clearTimeout(timer);
      await settlesWithin(writing.then(write), CLOSE_MS_MAX);
      clearTimeout(timer);
    },
  };
}

/** Every result exists from the start, so that an alert sees the first one as an increase. */
function createCounter(registry: Registry) {
  const signIns = metricsOf(registry).counter(
    "millrace_dashboard_sign_ins_total",
    "Sign-ins with a password, and wrong tokens, by result.",
    "result",
  );
  for (const result of ["signed_in", ...FAILURES]) signIns.inc({ result }, 0);
  return signIns;
}

/** Counted networks: a flood of addresses must not fill the memory. */
const NETWORKS_MAX = 1_000;
const WORST_MAX = 3;

class GatheredFailures {
  readonly #since = new Date();
  readonly #counts: Partial<Record<SignInFailure, number>> = {};
  readonly #byNetwork = new Map<string, number>();

  add(failure: SignInFailure, network: string): void {
    this.#counts[failure] = (this.#counts[failure] ?? 0) + 1;
    const failures = this.#byNetwork.get(network);
    if (failures === undefined && this.#byNetwork.size >= NETWORKS_MAX) return;
    this.#byNetwork.set(network, (failures ?? 0) + 1);
  }

  summary() {
    const worst = [...this.#byNetwork]
      .map(([network, failures]) => ({ network, failures }))
      .toSorted((one, other) => other.failures - one.failures)
      .slice(0, WORST_MAX);
    const networks = this.#byNetwork.size;
    return { ...this.#counts, networks, worst, since: this.#since.toISOString() };
  }
}

function failureEntry(result: ReturnType<GatheredFailures["summary"]>): AuditedFact {
  const triesPassword = result.wrong_password !== undefined;
  return {
    actor: null,
    role: "none",
    action: "sign_in_failed",
    via: triesPassword || result.wrong_token === undefined ? "session" : "token",
    result,
  };
}
