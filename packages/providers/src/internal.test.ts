import { defineConfig, defineHandlers, parseConfig } from "@millrace/core";
import { expect, test } from "vitest";
import { z } from "zod";
import { internal } from "./internal.ts";
import { stripe } from "./senders.ts";

test("emit takes what the schemas of the internal sources take", () => {
  const schemas = { receipt: z.object({ order: z.string() }) };
  const typed = defineConfig({ sources: { acme: stripe(), mail: internal({ schemas }) } });
  defineHandlers<typeof typed>()("acme", "*", async (_event, { emit }) => {
    await emit("mail", "receipt", { order: "o1" });
    // @ts-expect-error no such type
    await emit("mail", "reciept", { order: "o1" });
    // @ts-expect-error not as its schema says
    await emit("mail", "receipt", { order: 1 });
  });
  expect(parseConfig(typed).sources["mail"]?.options.types).toEqual(["receipt"]);
});
