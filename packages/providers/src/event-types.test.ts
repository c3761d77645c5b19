import { defineConfig, type SourceDefinition } from "@millrace/core";
import type { IEventName } from "@paddle/paddle-node-sdk";
import type Stripe from "stripe";
import { expect, expectTypeOf, test } from "vitest";
import { hookMesh, stripe } from "./index.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import type { PADDLE_TYPES, STRIPE_TYPES } from "./senders/event-types.ts";

test("the types of Stripe and Paddle are those of their SDKs", () => {
  expectTypeOf<(typeof STRIPE_TYPES)[number]>().toEqualTypeOf<
    Stripe.Event.Type | Stripe.V2.Core.EventNotification["type"]
  >();
  expectTypeOf<(typeof PADDLE_TYPES)[number]>().toEqualTypeOf<IEventName>();
});

test("a config keeps the types of its sources", () => {
  type StripeType = (typeof STRIPE_TYPES)[number];
  const { sources } = defineConfig({
    sources: {
      pay: stripe({ attempts: 5 }),
      more: stripe({ types: ["brand.new"] }),
      shop: hookMesh(),
      own: hookMesh({ types: ["order.packed", "order.placed"] }),
    },
  });
  expectTypeOf(sources.pay).toEqualTypeOf<SourceDefinition<StripeType, "data">>();
  expectTypeOf(sources.more).toEqualTypeOf<SourceDefinition<StripeType | "brand.new", "data">>();
  expectTypeOf(sources.shop).toEqualTypeOf<SourceDefinition<string, "payload">>();
  expectTypeOf(sources.own).toEqualTypeOf<
    SourceDefinition<"order.packed" | "order.placed", "payload">
  >();
});

const PROVIDERS = Object.entries(EVERY_SOURCE).map(
  ([name, { source }]) => [name, source.provider] as const,
);

test.each(PROVIDERS.filter(([, { types }]) => types !== undefined))(
  "%s lists each type once, and those of its samples",
  (_name, { types = [], sampleTypes }) => {
    expect(types).toEqual([...new Set(types)]);
    expect(types).toEqual(expect.arrayContaining([...sampleTypes]));
  },
);

test.each(PROVIDERS.filter(([, { dataField }]) => dataField !== undefined))(
  "%s has its data where it says",
  (_name, provider) => {
    // A notification of Stripe's names an object instead.
    for (const type of provider.sampleTypes.filter((one) => !one.startsWith("v1."))) {
      const payload: unknown = JSON.parse(provider.sample({ eventId: "evt_1", type, nowMs: 0 }));
      expect([type, payload]).toEqual([
        type,
        expect.objectContaining({ [provider.dataField ?? ""]: expect.any(Object) }),
      ]);
    }
  },
);
