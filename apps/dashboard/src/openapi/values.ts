import { z } from "zod";

const described = <Schema extends z.ZodType>(schema: Schema, about: string | undefined): Schema =>
  about === undefined ? schema : schema.describe(about);

/** Text of an answer. */
export const text = (about?: string) => described(z.string(), about);

/** A whole number from 0. */
export const count = (about?: string) => described(z.int().min(0), about);

/** A time of an answer, ISO 8601 in UTC. */
export const instant = (about?: string) => described(z.iso.datetime(), about);
