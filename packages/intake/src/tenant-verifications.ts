import {
  withDeadline,
  type Delivery,
  type DeliveryHead,
  type Refusal,
  type Source,
  type Verification,
} from "@millrace/core";
import { LRUCache } from "lru-cache";
import { createVerifications, UNAVAILABLE, type Verifications } from "./verifications.ts";

const TENANTS_MAX = 10_000;
const READS_MAX = 20;
const READ_TIMEOUT_MS = 1_000;
/** For an unknown tenant, or after a mismatch: a tenant or a secret may be new. */
const RETRY_MS = 5_000;
/** A secret that was removed counts for no longer. */
const AGE_MAX_MS = 60_000;

interface Tenant {
  readonly verifications?: Verifications | undefined;
  readonly triedAtMs: number;
  /** Of the latest read, if it failed: then what was known before counts. */
  readonly failure?: Refusal;
}

/**
 * Verifies the deliveries of a source whose tenants each have their own secrets. One read of a
 * tenant's secrets runs at once, and 20 of all; without them within a second, the sender is asked
 * to deliver again.
 */
export class TenantVerifications {
  readonly #source: Source;
  readonly #standIn: Verifications;
  // Apart, so that names that a stranger makes up evict no tenant.
  readonly #tenants = new LRUCache<string, Tenant>({ max: TENANTS_MAX });
  readonly #unknown = new LRUCache<string, Tenant>({ max: TENANTS_MAX });
  readonly #reads = new Map<string, Promise<Tenant>>();

  constructor(source: Source) {
    this.#source = source;
    this.#standIn = createVerifications(source, [source.provider.generateSecret()]);
  }

  /** Reads no secret, so that it is the same for every name. */
  precheck(head: DeliveryHead, readMs: number): Refusal | undefined {
    const refusal = this.#standIn.precheck(head, readMs);
    return refusal && isMismatch(refusal) ? undefined : refusal;
  }

  async verify(delivery: Delivery): Promise<Verification> {
    const refusal = this.precheck(delivery, 0);
    if (refusal !== undefined) return refusal;
    const { tenant: name = "" } = delivery;
    const known = this.#tenants.get(name) ?? this.#unknown.get(name);
    const ageMaxMs = known?.verifications === undefined ? RETRY_MS : AGE_MAX_MS;
    const isFresh = known !== undefined && ageOf(known, delivery) < ageMaxMs;
    const tenant = isFresh ? known : await this.#read(delivery, known);
    const verified = await verifyFor(tenant, delivery);
    if (!isMismatch(verified)) return verified;
    if (ageOf(tenant, delivery) < RETRY_MS) return tenant.failure ?? verified;
    const latest = await this.#read(delivery, tenant);
    const anew = await verifyFor(latest, delivery);
    return isMismatch(anew) ? (latest.failure ?? anew) : anew;
  }

  #read(delivery: Delivery, known: Tenant | undefined): Promise<Tenant> | Tenant {
    const { tenant: name = "", receivedAtMs: triedAtMs } = delivery;
    const running = this.#reads.get(name);
    if (running !== undefined) return running;
    const withFailure = (error: unknown): Tenant => {
      return { ...known, triedAtMs, failure: { ...UNAVAILABLE, error } };
    };
    if (this.#reads.size >= READS_MAX) return withFailure(new SecretsUnavailable());
    const read = this.#verificationsOf(name)
      .then((verifications): Tenant => ({ triedAtMs, verifications }), withFailure)
      .then((tenant) => this.#keep(name, tenant));
    this.#reads.set(name, read);
    return read;
  }

  #keep(name: string, tenant: Tenant): Tenant {
    this.#reads.delete(name);
    // A failure says nothing of a tenant that is not known: it is read again at once.
    if (tenant.verifications === undefined && tenant.failure !== undefined) return tenant;
    for (const cache of [this.#tenants, this.#unknown]) cache.delete(name);
    (tenant.verifications === undefined ? this.#unknown : this.#tenants).set(name, tenant);
    return tenant;
  }

  /** @throws for secrets that cannot be read, come late, or do not fit the provider. */
  async #verificationsOf(name: string): Promise<Verifications | undefined> {
    const reading = Promise.resolve().then(() => this.#source.options.secrets?.(name));
    const late = () => new SecretsUnavailable();
    const secrets = [(await withDeadline(reading, READ_TIMEOUT_MS, late)) ?? []].flat();
    return secrets.length === 0 ? undefined : createVerifications(this.#source, secrets, name);
  }
}

/** Absolute: a clock can be set back. */
function ageOf({ triedAtMs }: Tenant, { receivedAtMs }: Delivery): number {
  return Math.abs(receivedAtMs - triedAtMs);
}

function verifyFor({ verifications, failure }: Tenant, delivery: Delivery) {
  return verifications === undefined ? (failure ?? UNKNOWN) : verifications.verify(delivery);
}

function isMismatch(verified: Verification): boolean {
  return !verified.ok && verified.failure?.reason === "no_secret_matches";
}

const UNKNOWN: Refusal = { ok: false, code: "unknown_source", message: "There is no such tenant" };

/** A log shows its name: `secrets` took longer than a second, or 20 calls of it were running. */
class SecretsUnavailable extends Error {
  override readonly name = "SecretsUnavailable";
}
