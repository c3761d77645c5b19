import type {
  Emit,
  EmitOptions,
  Handler,
  HandlerFunction,
  HandlerOptions,
  HandlerParts,
  JsonPayload,
  SetHandlerFunction,
  TableSchema,
} from "./handler.ts";
import { on } from "./on.ts";
import type { ConfigInput } from "./settings.ts";
import type { InternalDefinition, SourceDefinition } from "./source-settings.ts";

/**
 * Gives an `on` that knows a config: an unknown source, an unknown type, and a table that is not
 * in its `schema` do not compile, and payloads have the types that the sources name. At run time
 * it is the same `on`.
 * ```ts
 * import type config from "./millrace.config.ts";
 * const on = defineHandlers<typeof config>();
 * ```
 * `Untyped` is the type of payloads that neither a source nor a schema types; `unknown` allows
 * nothing with them.
 */
export function defineHandlers<Config extends ConfigInput, Untyped = JsonPayload>() {
  return on as unknown as TypedOn<Config["sources"], TablesOf<Config>, Untyped>;
}

export interface TypedOn<
  Sources extends Record<string, SourceDefinition>,
  Tables extends TableSchema,
  Untyped = JsonPayload,
> {
  <
    Name extends (keyof Sources & string) | "*",
    Type extends EventTypes<Sources>[Known<Sources, Name>],
    Payload = PayloadOf<Sources, Name, Type, Untyped>,
  >(
    source: Name | readonly Name[],
    type: Type | readonly Type[],
    run: HandlerFunction<Payload, DataOf<Payload, Sources, Name, Untyped>, Tables, EmitTo<Sources>>,
  ): Handler;
  /** Binds a handler of several parts, as `on` does: `schema`, `when`, `call`, and `write`. */
  <
    Name extends (keyof Sources & string) | "*",
    Type extends EventTypes<Sources>[Known<Sources, Name>],
    Payload = PayloadOf<Sources, Name, Type, Untyped>,
    Called = undefined,
  >(
    source: Name | readonly Name[],
    type: Type | readonly Type[],
    parts: HandlerParts<
      Payload,
      Called,
      DataOf<Payload, Sources, Name, Untyped>,
      Tables,
      EmitTo<Sources>
    >,
  ): Handler;
  <
    Name extends (keyof Sources & string) | "*",
    Type extends EventTypes<Sources>[Known<Sources, Name>],
    Payload = PayloadOf<Sources, Name, Type, Untyped>,
  >(
    source: Name | readonly Name[],
    type: Type | readonly Type[],
    options: HandlerOptions,
    run: SetHandlerFunction<Payload, DataOf<Payload, Sources, Name, Untyped>, Tables>,
  ): Handler;
}

type EmitTo<Sources> = string extends keyof Sources
  ? Emit
  : <Name extends InternalNames<Sources>, Type extends keyof PayloadsOf<Sources[Name]> & string>(
      source: Name,
      type: Type,
      data: PayloadsOf<Sources[Name]>[Type],
      options?: EmitOptions,
    ) => Promise<void>;

type InternalNames<Sources> = {
  [Name in keyof Sources]: Sources[Name] extends InternalDefinition ? Name : never;
}[keyof Sources];

type PayloadsOf<Source> =
  Source extends InternalDefinition<string, infer Payloads> ? Payloads : never;

export type TablesOf<Config extends ConfigInput> =
  Config extends ConfigInput<Config["sources"], infer Tables> ? Tables : never;

/** A type, or its beginning up to a separator and a `*`. Mapped, so that an error lists them. */
type EventTypes<Sources> = {
  [Name in keyof Sources]: Sources[Name] extends SourceDefinition<infer Type>
    ? Type | `${Beginning<Type, "." | "/" | "_"> | ""}*`
    : never;
};

/** `*` may be any of the sources. */
type Known<Sources, Name> = Name extends keyof Sources ? Name : keyof Sources;

/** `a.`, `a.b_` of `a.b_c`: all that ends with a separator. */
type Beginning<Type extends string, Separator extends string> = Separator extends string
  ? Type extends `${infer Head}${Separator}${infer Rest}`
    ? `${Head}${Separator}` | `${Head}${Separator}${Beginning<Rest, Separator>}`
    : never
  : never;

/** The payloads of a type, or of all that a `*` stands for. Nothing checks them at run time. */
type PayloadOf<Sources, Name, Type, Untyped> = Name extends keyof Sources
  ? Sources[Name] extends SourceDefinition<string, string, infer Payloads>
    ? Typed<PayloadOfType<Payloads, Type>, Untyped>
    : never
  : Untyped;

/** `any`, which nobody has typed, is what untyped payloads are. */
type Typed<Payload, Untyped> = 0 extends 1 & Payload ? Untyped : Payload;

type PayloadOfType<Payloads, Type> = Type extends `${infer Start}*`
  ? Payloads[keyof Payloads & `${Start}${string}`]
  : Type extends keyof Payloads
    ? Payloads[Type]
    : never;

/** The type of `event.data`, as `dataOf` of the processor finds it. */
type DataOf<Payload, Sources, Name, Untyped> = Name extends keyof Sources
  ? Sources[Name] extends SourceDefinition<string, infer Field>
    ? FieldOf<Payload, Field, Untyped>
    : never
  : Untyped;

type FieldOf<Payload, Field extends string, Untyped> = [Field] extends [never]
  ? Payload
  : string extends Field
    ? Untyped
    : Field extends keyof Payload
      ? Payload[Field]
      : Payload;
