import { createHash } from "node:crypto";
import {
  hasTenants,
  isMillraceError,
  MillraceError,
  secretVariable,
  type Config,
  type Provider,
  type Source,
  type SourcePolicy,
} from "@millrace/core";
import { largeBytesMax, type ByteBudget, type SourceBytes } from "./byte-budget.ts";
import { ownAnswer, providerAnswer, type Received } from "./received.ts";
import { TenantVerifications } from "./tenant-verifications.ts";
import { createVerifications, type Verifications } from "./verifications.ts";

export interface ReadySource extends Pick<SourcePolicy, "ack" | "redelivery"> {
  readonly name: string;
  readonly provider: Provider;
  readonly verifier: Pick<TenantVerifications | Verifications, "precheck" | "verify">;
  readonly hasTenants: boolean;
  readonly inflates: boolean;
  readonly methods: readonly string[];
  readonly bodyBytesMax: number;
  readonly bytes: SourceBytes;
  readonly accepted: Received;
  readonly duplicate: Received;
}

/** A map: `__proto__` finds nothing. @throws `missing_secret` with every source without one */
export function readySources(
  config: Pick<Config, "sources">,
  secrets: Readonly<Record<string, readonly string[]>>,
  { budget, limits }: { budget: Pick<ByteBudget, "of">; limits: ReadonlyMap<string, number> },
): ReadonlyMap<string, ReadySource> {
  const ready = new Map<string, ReadySource>();
  const problems: string[] = [];
  for (const [name, source] of Object.entries(config.sources)) {
    try {
      const prepared = prepareSource(source, liveSecrets(name, source, secrets));
      const bodyBytesMax = limits.get(name) ?? source.provider.bodyBytesMax;
      ready.set(name, { ...prepared, name, bodyBytesMax, bytes: budget.of(name) });
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      problems.push(`  ${name}: ${error.message} (set ${secretVariable(name)})`);
    }
  }
  if (problems.length === 0) return ready;
  throw new MillraceError("missing_secret", `Cannot receive webhooks:\n${problems.join("\n")}`);
}

/** A digest of all names and live secrets, that no stranger can compute. */
export function digestOfSecrets(deps: {
  config: Pick<Config, "sources">;
  secrets: Readonly<Record<string, readonly string[]>>;
}): Buffer {
  const live = Object.entries(deps.config.sources).map(([name, source]) => {
    return [name, liveSecrets(name, source, deps.secrets)];
  });
  return createHash("sha256").update(JSON.stringify(live)).digest();
}

function liveSecrets(
  name: string,
  source: Source,
  secrets: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  if (Object.hasOwn(secrets, name)) return secrets[name] ?? [];
  const own = source.options.secret;
  return own === undefined ? [] : [own].flat();
}

/** A limit that nobody has set, above 1 MiB, fits in what one source can take of the budget. */
export function bodyBytesMaxOf(
  { sources }: Pick<Config, "sources">,
  inFlightBytesMax: number,
): ReadonlyMap<string, number> {
  const given = Object.entries(sources);
  const share = Math.floor(largeBytesMax(inFlightBytesMax) / (given.length > 1 ? 2 : 1));
  const unset = Math.max(share, 1024 * 1024);
  return new Map(
    given.map(([name, { provider, options }]) => {
      return [name, options.bodyBytesMax ?? Math.min(provider.bodyBytesMax, unset)];
    }),
  );
}

function prepareSource(
  source: Source,
  secrets: readonly string[],
): Omit<ReadySource, "name" | "bytes" | "bodyBytesMax"> {
  const { provider, options } = source;
  const { accepted, duplicate } = provider.answers ?? {};
  return {
    provider,
    methods: provider.methods,
    verifier: hasTenants(source)
      ? new TenantVerifications(source)
      : createVerifications(source, secrets),
    hasTenants: hasTenants(source),
    inflates: provider.inflate !== undefined,
    ack: options.ack,
    redelivery: options.redelivery,
    accepted: accepted ? providerAnswer("accepted", accepted) : ownAnswer("accepted"),
    duplicate: duplicate ? providerAnswer("duplicate", duplicate) : ownAnswer("duplicate"),
  };
}
