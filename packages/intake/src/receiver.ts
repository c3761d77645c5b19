import {
  failpoint,
  hasTenants,
  InFlight,
  statusOf,
  TENANT,
  withUrl,
  type Answer,
  type Config,
  type Delivery,
  type IncomingEvent,
  type IngressConfig,
  type Refusal,
  type Tracing,
  type Verification,
} from "@millrace/core";
import { ByteBudget } from "./byte-budget.ts";
import type { RefusalCounter } from "./counts.ts";
import type { EventStore, RedeliveryPort, StoreName } from "./event-store.ts";
import { EventStores, stateOf, type ActiveStore } from "./event-stores.ts";
import {
  createHeadChecks,
  unknownSources,
  type HeadChecks,
  type SourceLimits,
} from "./head-checks.ts";
import { refuseIdentity, toIncomingEvents } from "./incoming-events.ts";
import { inflate, isGzip } from "./inflate.ts";
import type { Notify } from "./notice.ts";
import {
  earlyRejection,
  methodNotAllowed,
  providerAnswer,
  rejection,
  unverified,
  type Received,
  type ReceiveRequest,
} from "./received.ts";
import { bodyBytesMaxOf, digestOfSecrets, readySources, type ReadySource } from "./sources.ts";

export interface ReceiverDeps {
  readonly config: Pick<Config, "sources" | "ingress">;
  /** Live secrets by source, which take precedence over the config's own. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
  readonly stores: readonly EventStore[];
  /** Retries a failed event that its sender delivers again; without it nothing does. */
  readonly redelivery?: RedeliveryPort | undefined;
  readonly refusals?: Pick<RefusalCounter, "add"> | undefined;
  readonly notify?: Notify;
  /** The clock that signed timestamps are compared with, milliseconds since the epoch. */
  readonly nowMs?: () => number;
  readonly tracing?: Tracing | undefined;
}

export interface Readiness {
  /** `not_ready`: a source has no store. `degraded`: one does not go to its preferred store. */
  readonly status: "ready" | "degraded" | "not_ready";
  readonly parts: Readonly<Record<string, string>>;
  readonly stores: Readonly<Record<string, StoreName | "none">>;
}

export class Receiver {
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  readonly limits: IngressConfig;
  readonly budget: ByteBudget;
  readonly headChecks: HeadChecks;
  readonly notify: Notify;
  readonly hasTenants: boolean;
  readonly #sources: ReadonlyMap<string, ReadySource>;
  readonly #unknown: (path: string) => SourceLimits;
  readonly #stores: EventStores;
  readonly #nowMs: () => number;
  readonly #tracing: Tracing | undefined;
  readonly #inFlight = new InFlight();
  #closing = false;

  /** @throws `missing_secret` with every source that has no usable secret. */
  constructor(deps: ReceiverDeps) {
    this.limits = deps.config.ingress;
    this.notify = safeNotify(deps);
    const config = { sources: withUrl(deps.config.sources) };
    const { inFlightBytesMax } = this.limits;
    const limits = bodyBytesMaxOf(config, inFlightBytesMax);
    this.budget = new ByteBudget(inFlightBytesMax, limits);
    this.#sources = readySources(config, deps.secrets, { budget: this.budget, limits });
    this.hasTenants = Object.values(config.sources).some(hasTenants);
    const digest = digestOfSecrets({ ...deps, config });
    this.#unknown = unknownSources([...this.#sources.values()], digest);
    const storing = { ...deps, config: { ...deps.config, ...config }, notify: this.notify };
    this.#stores = new EventStores(storing);
    this.#nowMs = deps.nowMs ?? Date.now;
    this.#tracing = deps.tracing;
    this.headChecks = createHeadChecks(this.limits, { notify: this.notify, nowMs: this.#nowMs });
    this.checks = this.#stores.checks;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Answers one delivery within `ingress.answerTimeoutMs`. Never rejects. */
  receive(request: ReceiveRequest): Promise<Received> {
    const found = this.#find(request.source);
    if (this.#tracing === undefined) return this.#answer(request, found);
    const { traceparent } = request.headers;
    const delivery = { source: found.source?.name, traceparent };
    return this.#tracing.receive(delivery, () => this.#answer(request, found));
  }

  async #answer(request: ReceiveRequest, { source, tenant }: FoundSource): Promise<Received> {
    const startedMs = performance.now();
    const { methods, asked }: SourceLimits = source ?? this.#unknown(request.source);
    this.#inFlight.begin();
    let received: Received;
    try {
      const admitted = this.#admit(source, methods, request, tenant);
      if ("status" in admitted) received = admitted;
      else if (admitted.source.inflates && isGzip(request.body)) {
        received = await this.#receiveGzip(admitted);
      } else {
        const { delivery } = admitted;
        const verified = admitted.source.verifier.verify(delivery);
        // A synchronous provider costs no turn of the event loop.
        const verification = verified instanceof Promise ? await verified : verified;
        const read = this.#identify(admitted.source, delivery, verification);
        received = "status" in read ? read : await this.#store(read);
      }
    } catch (error) {
      this.notify({ kind: "unexpected", source: source?.name, error });
      received = rejection("internal", "Cannot take the delivery: something unexpected happened");
    }
    this.#inFlight.end();
    this.notify({
      kind: "answered",
      source: source?.name,
      tenant,
      asked,
      outcome: received.outcome,
      code: received.code,
      failure: received.failure,
      durationMs: performance.now() - startedMs,
    });
    return received;
  }

  source(path: string): SourceLimits {
    return this.#find(path).source ?? this.#unknown(path);
  }

  /** The source that a path below `/webhooks/` names, with its tenant. Nothing is decoded. */
  #find(path: string): FoundSource {
    const slash = path.indexOf("/");
    const source = this.#sources.get(slash === -1 ? path : path.slice(0, slash));
    const tenant = slash === -1 ? undefined : path.slice(slash + 1);
    const isWhole = source?.hasTenants ? TENANT.test(tenant ?? "") : tenant === undefined;
    return isWhole ? { source, tenant } : {};
  }

  async ready(): Promise<Readiness> {
    if (this.#closing) {
      return { status: "not_ready", parts: { receiver: "closing" }, stores: {} };
    }
    const checks = Object.entries(this.checks).map(async ([name, check]) => {
      const state = await stateOf(check);
      return [name, state === "ok" ? (this.#stores.riskOf(name) ?? state) : state] as const;
    });
    const parts: Record<string, string> = Object.fromEntries(await Promise.all(checks));
    const stores = this.activeStores();
    const isWhole =
      Object.values(parts).every((state) => state === "ok") &&
      stores.every(({ active, preferred }) => active === preferred);
    const hasStore = stores.some(({ active }) => active !== undefined);
    return {
      status: !hasStore ? "not_ready" : isWhole ? "ready" : "degraded",
      parts,
      stores: Object.fromEntries(stores.map(({ source, active }) => [source, active ?? "none"])),
    };
  }

  activeStores(): readonly ActiveStore[] {
    return [...this.#sources.values()].map((source) => this.#stores.activeStore(source));
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#inFlight.none();
    this.#stores.close();
  }

  #admit(
    source: ReadySource | undefined,
    methods: readonly string[],
    request: ReceiveRequest,
    tenant: string | undefined,
  ): Received | Admitted {
    if (this.#closing) return earlyRejection("shutting_down");
    if (!methods.includes(request.method)) return methodNotAllowed(methods);
    if (request.body.byteLength === 0 && !BODILESS.has(request.method)) {
      return rejection("invalid_body", "Cannot verify the delivery: its body is empty");
    }
    if (source === undefined) return unverified("unknown_source");
    const { method, url, headers, body } = request;
    const receivedAtMs = this.#nowMs();
    return { source, delivery: { method, url, headers, body, tenant, receivedAtMs } };
  }

  /** A signature of the bytes that came is checked before they are inflated. */
  async #receiveGzip({ source, delivery }: Admitted): Promise<Received> {
    const signsRaw = source.provider.inflate === "raw";
    const early = signsRaw ? await source.verifier.verify(delivery) : undefined;
    if (early?.ok === false) return this.#refuse(source, early);
    const inflated = await inflate(delivery.body, source);
    if ("status" in inflated) return inflated;
    try {
      const whole = { ...delivery, body: inflated.bytes };
      const verification = early ?? (await source.verifier.verify(whole));
      const signed = signsRaw ? { signed: [delivery.body] } : {};
      const read = this.#identify(source, whole, { ...signed, ...verification });
      return "status" in read ? read : await this.#store(read);
    } finally {
      inflated.release();
    }
  }

  #identify(
    source: ReadySource,
    delivery: Delivery,
    verification: Verification,
  ): Received | VerifiedDelivery {
    if (!verification.ok) return this.#refuse(source, verification);
    if (verification.handshake !== undefined) {
      return providerAnswer("handshake", verification.handshake);
    }
    failpoint("ingress.verified");

    const identified = source.provider.identify(delivery);
    if (!identified.ok) return rejection(identified.code, identified.message);
    for (const event of identified.events) {
      const refusal = refuseIdentity(event, delivery);
      if (refusal !== undefined) return refusal;
    }
    const traceparent = this.#tracing?.traceparent();
    const origin = { delivery, signed: verification.signed, traceparent };
    const events = toIncomingEvents(source, origin, identified.events);
    return { source, events, answer: identified.answer };
  }

  #refuse({ name }: ReadySource, { code, message, failure, error }: Refusal): Received {
    if (error !== undefined) this.notify({ kind: "unexpected", source: name, error });
    const isHidden = failure !== undefined || statusOf(code) === 401 || code === "unknown_source";
    return isHidden ? unverified(code, failure) : rejection(code, message);
  }

  async #store({ source, events, answer }: VerifiedDelivery): Promise<Received> {
    const stored = await this.#stores.storeEvents(source, events);
    if (stored === "unavailable") {
      return rejection("unavailable", "Cannot store the event: no event store stored it in time");
    }
    const received = answer === undefined ? source[stored] : providerAnswer(stored, answer);
    const [only, ...others] = events;
    if (only === undefined || others.length > 0) return received;
    const id = { "millrace-event-id": encodeURIComponent(only.eventId) };
    return { ...received, headers: { ...received.headers, ...id } };
  }
}

interface FoundSource {
  readonly source?: ReadySource | undefined;
  readonly tenant?: string | undefined;
}

interface Admitted {
  readonly source: ReadySource;
  readonly delivery: Delivery;
}

interface VerifiedDelivery {
  readonly source: ReadySource;
  readonly events: readonly IncomingEvent[];
  readonly answer: Answer | undefined;
}

/** Counts refusals, and keeps a subscriber that throws from costing a delivery its answer. */
function safeNotify({ refusals, notify }: Pick<ReceiverDeps, "refusals" | "notify">): Notify {
  return (notice) => {
    if (notice.kind === "answered" && notice.outcome === "rejected") {
      refusals?.add(notice.source, notice.failure?.reason ?? notice.code ?? "internal");
    }
    try {
      notify?.(notice);
    } catch {
      // There is no other subscriber to notify.
    }
  };
}

// Handshakes that some providers make by these carry everything in the query.
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
