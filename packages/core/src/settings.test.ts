import type { z } from "zod";
import { expectTypeOf, test } from "vitest";
import type { configSchema } from "./config-schema.ts";
import type { ConfigInput } from "./settings.ts";
import type { sourceOptionsSchema } from "./source-schema.ts";
import type { SourceOptions } from "./source-settings.ts";

test("the settings that users write are exactly those that the schemas check", () => {
  expectTypeOf<Omit<z.input<typeof configSchema>, "sources">>().toEqualTypeOf<
    Omit<ConfigInput, "sources">
  >();
  expectTypeOf<z.input<typeof sourceOptionsSchema>>().toEqualTypeOf<SourceOptions>();
});
