import { defineConfig, defineHandlers } from "@millrace/core";
import type Stripe from "stripe";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineProvider, github, hmac, signature, slack, square, stripe } from "./index.ts";

// `npm run check` proves that the compiler refuses these.

/** As @octokit/webhooks-types has them: by the event's name. */
interface EventPayloadMap {
  push: { ref: string };
  pull_request: { number: number };
  pull_request_review: { review: { id: number } };
}

/** As @slack/types has them. */
type SlackEvent = { type: "app_mention"; text: string } | { type: "team_join"; user: object };

type Shop =
  | { type: "order.placed"; total: number }
  | { type: "order.cancelled"; reason: string }
  | { type: "user.created"; name: string };

const url = "https://hooks.example.com/webhooks/till";
const acme = defineProvider({ name: "acme", verify: signature({ header: "x-s" }), id: "json:id" });
const config = defineConfig({
  sources: {
    pay: stripe<Stripe.Event>({ attempts: 5 }),
    code: github<EventPayloadMap>(),
    chat: slack<SlackEvent>(),
    shop: hmac<Shop>({ header: "x-sig", id: "json:id", type: "json:type" }),
    till: square<{ "payment.created": { data: { id: string } } }>({ url }),
    own: acme<Shop>(),
    plain: stripe(),
    open: hmac({ header: "x-sig", id: "json:id" }),
  },
});
const on = defineHandlers<typeof config>();
const nothing = () => {};

test("nothing of it is there at run time", () => {
  expect(config.sources.pay.options).toEqual({ attempts: 5 });
  expect(config.sources.pay.provider).toBe(config.sources.plain.provider);
});

test("an event's payload and data have the type that the sender's package gives its name", () => {
  on("pay", "payment_intent.succeeded", (event) => {
    expectTypeOf(event.data.object.amount_received).toEqualTypeOf<number>();
    expectTypeOf(event.payload.data.object).toEqualTypeOf<Stripe.PaymentIntent>();
    // @ts-expect-error no such field
    void event.data.object.amount_recieved;
  });
  on("code", "push", ({ payload, data }) => {
    expectTypeOf(payload).toEqualTypeOf<{ ref: string }>();
    expectTypeOf(data).toEqualTypeOf<{ ref: string }>();
  });
  on("chat", "app_mention", (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ type: "app_mention"; text: string }>();
    expectTypeOf(event.payload.event.text).toEqualTypeOf<string>();
    expectTypeOf(event.payload["team_id"]).toBeAny();
  });
  on("till", "payment.created", (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ id: string }>();
  });
  on("own", "order.placed", (event) => {
    expectTypeOf(event.data.total).toEqualTypeOf<number>();
  });
  on("shop", "order.placed", {
    when: (event) => event.data.total > 0,
    call: (event) => event.payload.total,
    write: (_event, _context, called) => {
      expectTypeOf(called).toEqualTypeOf<number>();
    },
  });
  on("shop", "user.created", { batch: 10 }, (events) => {
    expectTypeOf(events.map(({ data }) => data.name)).toEqualTypeOf<string[]>();
  });
});

test("a source may have events and notifications of one sender", () => {
  const both = defineConfig({
    sources: { pay: stripe<Stripe.Event | Stripe.V2.Core.EventNotification>() },
  });
  const onBoth = defineHandlers<typeof both>();
  onBoth("pay", "v1.customer.updated", ({ payload }) => {
    expectTypeOf(payload.related_object.url).toEqualTypeOf<string>();
  });
  onBoth("pay", "customer.updated", ({ data }) => {
    expectTypeOf(data.object).toEqualTypeOf<Stripe.Customer>();
  });
  // @ts-expect-error misspelt
  onBoth("pay", "v1.customer.updatd", nothing);
  // @ts-expect-error on no list either
  on("plain", "v1.customer.updatd", nothing);
  on("plain", "v1.customer.updated", nothing);
});

test("a list of types, a wildcard, and several sources narrow to what they can be", () => {
  on("shop", ["order.placed", "user.created"], ({ payload }) => {
    expectTypeOf(payload.type).toEqualTypeOf<"order.placed" | "user.created">();
  });
  on("shop", "order.*", ({ payload }) => {
    expectTypeOf(payload.type).toEqualTypeOf<"order.placed" | "order.cancelled">();
    if (payload.type === "order.cancelled") expectTypeOf(payload.reason).toEqualTypeOf<string>();
  });
  on("shop", "*", ({ payload }) => {
    expectTypeOf(payload).toEqualTypeOf<Shop>();
  });
  on("pay", "invoice.*", (event) => {
    expectTypeOf(event.data.object.id).toEqualTypeOf<string>();
    // @ts-expect-error no field of an invoice
    void event.data.object.amount_received;
  });
  on(["code", "shop"], ["push", "order.placed"], ({ payload }) => {
    expectTypeOf(payload).toEqualTypeOf<
      { ref: string } | { type: "order.placed"; total: number }
    >();
  });
  on("*", "*", ({ payload }) => {
    expectTypeOf(payload).toBeAny();
  });
});

test("names that the payloads do not have do not compile, and there are no others to add", () => {
  // @ts-expect-error misspelt
  on("pay", "payment_intent.suceeded", nothing);
  // @ts-expect-error misspelt
  on("code", "pull_requests", nothing);
  // @ts-expect-error misspelt
  on("shop", ["order.placed", "order.canceled"], nothing);
  // @ts-expect-error no type begins with it
  on("shop", "orders.*", nothing);
  // @ts-expect-error the payloads have the types
  stripe<Stripe.Event>({ types: ["brand.new"] });
  // @ts-expect-error the payloads have the types
  hmac<Shop>({ header: "x-sig", id: "json:id", types: ["brand.new"] });
});

test("without a type parameter types are those of the lists, and payloads anything", () => {
  on("plain", "payment_intent.succeeded", (event) => {
    expectTypeOf(event.payload).toBeAny();
  });
  // @ts-expect-error on no list
  on("plain", "payment_intent.suceeded", nothing);
  on("open", "whatever", (event) => {
    expectTypeOf(event.data).toBeAny();
  });
});

test("payloads that nothing types are unknown, where a project asks for that", () => {
  const strict = defineHandlers<typeof config, unknown>();
  for (const source of ["plain", "open", "*"] as const) {
    strict(source, "*", ({ payload, data }) => {
      expectTypeOf(payload).toBeUnknown();
      expectTypeOf(data).toBeUnknown();
    });
  }
  strict("shop", "order.placed", ({ data }) => {
    expectTypeOf(data.total).toEqualTypeOf<number>();
  });
  strict("plain", "payment_intent.succeeded", {
    schema: z.object({ data: z.object({ amount: z.number() }) }),
    write: ({ data }) => {
      expectTypeOf(data.amount).toEqualTypeOf<number>();
    },
  });
});

test("a schema, which checks at run time, goes before the sender's type", () => {
  on("shop", "order.placed", {
    schema: z.object({ total: z.stringbool() }),
    write: ({ data }) => {
      expectTypeOf(data).toEqualTypeOf<{ total: boolean }>();
    },
  });
});
