import {
  INTERNAL_PROVIDER,
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
> extends Omit<
  SourceOptions<Type>,
  "secret" | "secrets" | "toleranceMs" | "ack" | "redelivery" | "bodyDedup"
> {
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
  const provider: InternalDefinition["provider"] = INTERNAL_PROVIDER;
  return { provider, options: named.length === 0 ? policy : { ...policy, types: named } };
}
