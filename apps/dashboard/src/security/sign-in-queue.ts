import { createFailureLimit } from "./failure-limit.ts";

/** Who guesses at a password. */
export interface Guesser {
  /** Ten guesses of one may wait: an address, the /64 of an IPv6 address, or a browser that is known. */
  readonly network: string;
  /** By whose bad guesses it is put in order: its network, or a larger one that has it. */
  readonly origin: string;
  /** Whether it is a browser that its user has signed in with before. */
  readonly isKnown: boolean;
}

/** What became of a guess: it was checked, or refused because too many wait already. */
export type Turn<Found> =
  | { readonly kind: "checked"; readonly found: Found | undefined }
  | { readonly kind: "refused"; readonly retryMs: number };

/** Failures count for ten minutes. */
const WINDOW_MS = 600_000;
/** So many cost no time: people mistype. */
const FREE_FAILURES = 10;
/** What each further one adds to the time between two checks, and how long that time can become. */
const STEP_MS = 5;
const PAUSE_MS_MAX = 2_000;
/** How many guesses wait, in all and of one network. */
const WAITING_MAX = 100;
const WAITING_OF_NETWORK_MAX = 10;

/** A known browser's bad guesses that cost it nothing. */
const FREE_OF_KNOWN = 10;

interface Waiting {
  readonly guesser: Guesser;
  /** Checks it. */
  readonly isRight: () => boolean;
  readonly refuse: () => void;
}

/**
 * The queue of all sign-ins: checks passwords one by one, and the more slowly the more of them were wrong.
 *
 * The time between two checks grows with the failures of all networks together, so that many addresses
 * guess no faster than one: about 35 wrong passwords a minute in the long run. Next is a guess of whoever
 * has the fewest guesses that were wrong or refused. So a person at an address of their own waits for
 * one check, two seconds at most, however many addresses have guessed wrong before. Nobody is locked out by
 * failures: where a proxy hides the addresses, people wait for their turn among the guesses of all.
 *
 * Thousands of addresses that have never been seen would all be next. IPv6 gives them to anyone, so there the bad guesses of
 * a /48 count together. A browser that somebody has signed in with before has places of its own, and comes before all
 * others, until it has guessed wrong ten times.
 *
 * The wait is before the check. After it, a guesser could take a late answer for a wrong password, and hang up.
 */
export class SignInQueue {
  /** When a check failed; a few hundred at most, since checks are slow when there are so many. */
  #failedMs: number[] = [];
  /** What was wrong or refused, by origin. */
  readonly #bad = createFailureLimit({
    ...{ failuresMax: Infinity, windowMs: WINDOW_MS },
    nowMs: () => performance.now(),
  });
  readonly #waiting: Waiting[] = [];
  #checkedMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** Runs `check` when it is its turn. What finds nothing counts as a failure of the guesser's origin. */
  run<Found>(guesser: Guesser, check: () => Found | undefined): Promise<Turn<Found>> {
    return new Promise((resolve) => {
      const refuse = () => {
        this.#bad.count(guesser.origin);
        resolve({ kind: "refused", retryMs: PAUSE_MS_MAX });
      };
      if (!this.#hasPlace(guesser)) return refuse();
      const isRight = () => {
        const found = check();
        resolve({ kind: "checked", found });
        return found !== undefined;
      };
      this.#waiting.push({ guesser, isRight, refuse });
      if (this.#timer === undefined) this.#checkNext();
    });
  }

  /** Refuses all that wait, and all that come later. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const { refuse } of this.#waiting.splice(0)) refuse();
  }

  /** Whether a guess may wait; where all places are taken, one of a worse guesser makes way. */
  #hasPlace(guesser: Guesser): boolean {
    if (this.#closed) return false;
    const own = this.#waiting.filter((one) => one.guesser.network === guesser.network).length;
    if (own >= WAITING_OF_NETWORK_MAX) return false;
    if (this.#waiting.length < WAITING_MAX) return true;
    const counts = this.#badOfWaiting();
    const most = Math.max(...counts);
    if (most <= this.#badOf(guesser)) return false;
    for (const { refuse } of this.#waiting.splice(counts.lastIndexOf(most), 1)) refuse();
    return true;
  }

  #checkNext(): void {
    this.#timer = undefined;
    while (this.#waiting.length > 0) {
      const leftMs = this.#pauseMs() - (performance.now() - this.#checkedMs);
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#checkNext(), leftMs).unref();
        return;
      }
      // The first of those who have the fewest bad guesses.
      const counts = this.#badOfWaiting();
      const [next] = this.#waiting.splice(counts.indexOf(Math.min(...counts)), 1);
      if (next === undefined) return;
      this.#checkedMs = performance.now();
      if (next.isRight()) continue;
      this.#failedMs.push(this.#checkedMs);
      this.#bad.count(next.guesser.origin);
    }
  }

  #pauseMs(): number {
    const sinceMs = performance.now() - WINDOW_MS;
    this.#failedMs = this.#failedMs.filter((atMs) => atMs > sinceMs);
    return Math.min(PAUSE_MS_MAX, STEP_MS * Math.max(0, this.#failedMs.length - FREE_FAILURES));
  }

  #badOfWaiting(): number[] {
    return this.#waiting.map(({ guesser }) => this.#badOf(guesser));
  }

  /** Less than nothing for a known browser that has not used up what it has free. */
  #badOf({ origin, isKnown }: Guesser): number {
    return this.#bad.failures(origin) - (isKnown ? FREE_OF_KNOWN + 1 : 0);
  }
}
