import type { ErrorCode } from "@millrace/core";
import { z } from "zod";

/** The type of a schema for its readers: nothing in it is changed. */
export type Wire<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

type DeepReadonly<Value> = Value extends Date
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value;

const described = <Schema extends z.ZodType>(schema: Schema, about: string | undefined): Schema =>
  about === undefined ? schema : schema.describe(about);

export const text = (about?: string) => described(z.string(), about);

export const count = (about?: string) => described(z.int().min(0), about);

export const instant = (about?: string) => described(z.iso.datetime(), about);

/** To a client any text: a later version may have other codes. */
export const errorCode = (about?: string) => text(about) as z.ZodType as z.ZodType<ErrorCode>;
