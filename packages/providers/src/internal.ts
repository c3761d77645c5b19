import {
  MillraceError,
  type Handler,
  type InternalDefinition,
  type JsonPayload,
  type SourceOptions,
} from "@millrace/core";

type Schema = NonNullable<Handler["schema"]>;
type Schemas = Readonly<Record<string, Schema>>;

export interface InternalOptions<
  Type extends string = string,
  ByType extends Schemas = Schemas,
> extends Omit<SourceOptions<Type>, "secret" | "toleranceMs" | "ack" | "redelivery" | "bodyDedup"> {
  /**
   * Schemas of the Standard Schema by event type, which type the data of `emit` in
   * `defineHandlers`. Handlers check with their own. Default: any data.
   */
  readonly schemas?: ByType | undefined;
}

/** The data by event type; a type without a schema has any. */
type PayloadsOf<Type extends string, ByType extends Schemas> = {
  readonly [Name in Type | (keyof ByType & string)]: Name extends keyof ByType
    ? NonNullable<ByType[Name]["~standard"]["types"]>["input"]
    : JsonPayload;
};

const NO_URL = { ok: false, code: "unknown_source", message: "The source has no URL" } as const;

/** Never verified, signed, or sent: only the limits and the name are read. */
const provider: InternalDefinition["provider"] = {
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
export function internal<
  ByType extends Schemas = Record<never, never>,
  Type extends string = [keyof ByType] extends [never] ? string : never,
>(
  options: InternalOptions<Type, ByType> = {},
): InternalDefinition<NoInfer<Type> | (keyof ByType & string), PayloadsOf<NoInfer<Type>, ByType>> {
  const { schemas = {}, types = [], ...policy } = options;
  const named = [...types, ...(Object.keys(schemas) as (keyof ByType & string)[])];
  return { provider, options: named.length === 0 ? policy : { ...policy, types: named } };
}
