import type { AuditedFact } from "@millrace/ledger";

/** Why somebody was not let in. */
export const SIGN_IN_FAILURES = ["wrong_password", "wrong_token", "too_many_failures"] as const;
export type SignInFailure = (typeof SIGN_IN_FAILURES)[number];

/** Failures of all networks, or of one. */
export type FailureCounts = Partial<Record<SignInFailure, number>>;

/** Networks that are counted apart, and those with an entry of their own: a stranger fills no table. */
const NETWORKS_MAX = 1_000;
const ENTRIES_MAX = 20;

/** Failures of a minute, by network. */
export class GatheredFailures {
  readonly since = new Date();
  readonly #byNetwork = new Map<string, FailureCounts>();
  /** Of the networks beyond those that are counted apart. */
  #beyond: FailureCounts = {};

  add(failure: SignInFailure, network: string): void {
    const one: FailureCounts = { [failure]: 1 };
    if (this.#byNetwork.has(network) || this.#byNetwork.size < NETWORKS_MAX) {
      this.#byNetwork.set(network, plus(this.#byNetwork.get(network) ?? {}, one));
    } else this.#beyond = plus(this.#beyond, one);
  }

  /** All of them in one, for the log. */
  summary() {
    const counts = [...this.#byNetwork.values()].reduce(plus, this.#beyond);
    const worst = this.#sorted()
      .slice(0, 3)
      .map(([network]) => network);
    return { ...counts, networks: this.#byNetwork.size, worst, since: this.since };
  }

  /** For the audit: an entry for each of the networks with the most failures, and one for all others. */
  facts(): AuditedFact[] {
    const sorted = this.#sorted();
    const facts = sorted.slice(0, ENTRIES_MAX).map(([network, of]) => this.#fact(network, of));
    const others = sorted.slice(ENTRIES_MAX).reduce((sum, [, of]) => plus(sum, of), this.#beyond);
    return sumOf(others) === 0 ? facts : [...facts, this.#fact("others", others)];
  }

  #sorted(): [network: string, counts: FailureCounts][] {
    return [...this.#byNetwork].toSorted(([, one], [, other]) => sumOf(other) - sumOf(one));
  }

  #fact(network: string, counts: FailureCounts): AuditedFact {
    return {
      actor: null,
      role: "none",
      action: "sign_in_failed",
      via: counts.wrong_token === sumOf(counts) ? "token" : "session",
      result: { network, ...counts, since: this.since.toISOString() },
    };
  }
}

const sumOf = (counts: FailureCounts): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

function plus(one: FailureCounts, other: FailureCounts): FailureCounts {
  const sum = { ...one };
  for (const failure of SIGN_IN_FAILURES) {
    const count = (one[failure] ?? 0) + (other[failure] ?? 0);
    if (count > 0) sum[failure] = count;
  }
  return sum;
}
