import {
  MillraceError,
  type Provider,
  type SourceDefinition,
  type SourceOptions,
} from "@millrace/core";

export type InternalOptions<Type extends string = string> = Omit<
  SourceOptions<Type>,
  "secret" | "toleranceMs" | "ack" | "redelivery" | "bodyDedup"
>;

const NO_URL = { ok: false, code: "unknown_source", message: "The source has no URL" } as const;

/** Never verified, signed, or sent: only the limits and the name are read. */
const provider: Provider<never> = {
  name: "internal",
  isInternal: true,
  methods: [],
  bodyBytesMax: 1024 * 1024,
  keptHeaders: [],
  idIsSigned: true,
  createVerifier: () => ({ verify: () => NO_URL }),
  identify: () => NO_URL,
  generateSecret: refuse,
  sampleTypes: [],
  sample: refuse,
  sign: refuse,
};

function refuse(): never {
  throw new MillraceError("unknown_source", "Cannot deliver to an internal source: it has no URL");
}

/**
 * Handlers emit its events (`emit`), and handlers of it run them. To a sender it does not exist.
 */
export function internal<Type extends string = string>(
  options: InternalOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, never> {
  return { provider, options };
}
