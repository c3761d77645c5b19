import { expect, test } from "vitest";
import { shopify } from "./index.ts";
import { deliveryOf, signedDelivery, verdict } from "./testing/sign-delivery.ts";

test("Shopify's identity is of three parts, none of which can hold another's", () => {
  const idOf = (headers: Record<string, string>) => {
    const found = shopify().provider.identify(deliveryOf(headers, "{}"));
    return found.ok ? found.events[0]?.eventId : found;
  };
  const headers = {
    "x-shopify-shop-domain": "a.myshopify.com",
    "x-shopify-topic": "orders/create",
    "x-shopify-event-id": "e1",
    "x-shopify-webhook-id": "w1",
  };
  expect(idOf(headers)).toBe("a.myshopify.com|orders/create|e1");
  const { "x-shopify-event-id": _event, ...without } = headers;
  expect(idOf(without)).toBe("a.myshopify.com|orders/create|w1");
  const { "x-shopify-shop-domain": _shop, ...nowhere } = headers;
  expect(idOf(nowhere)).toMatchObject({ code: "invalid_event_id" });
  expect(idOf({ ...headers, "x-shopify-event-id": "b|c" })).toMatchObject({
    code: "invalid_event_id",
  });
});

test("Shopify's newer headers are read where the delivery was signed with them", () => {
  const secret = shopify().provider.generateSecret();
  const older = signedDelivery(shopify(), { secret, type: "orders/paid", eventId: "e1" });
  const newer = {
    ...older,
    headers: Object.fromEntries(
      Object.entries(older.headers).map(([name, value]) => [name.replace(/^x-/, ""), value]),
    ),
  };
  const events = [{ eventId: "millrace-dev.myshopify.com|orders/paid|e1", type: "orders/paid" }];
  expect(verdict(shopify(), [secret], newer)).toBe("ok");
  expect(shopify().provider.identify(newer)).toMatchObject({ events });
  // Next to the older signature they can be anyone's.
  const both = { ...older, headers: { ...older.headers, "shopify-event-id": "forged" } };
  expect(shopify().provider.identify(both)).toMatchObject({ events });
});

test("the action of a newer delivery is part of type and identity, once", () => {
  const found = (action: string, topic = "products") =>
    shopify().provider.identify(
      deliveryOf(
        {
          "shopify-hmac-sha256": "x",
          "shopify-shop-domain": "a.myshopify.com",
          "shopify-topic": topic,
          "shopify-action": action,
          "shopify-event-id": "e1",
        },
        "{}",
      ),
    );
  const type = "products/update";
  const events = [{ eventId: `a.myshopify.com|${type}|e1`, type }];
  expect(found("update")).toMatchObject({ events });
  expect(found("update", type)).toMatchObject({ events });
  expect(found("delete")).toMatchObject({ events: [{ type: "products/delete" }] });
});
