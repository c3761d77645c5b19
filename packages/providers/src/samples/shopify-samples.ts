import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

export const SAMPLE_SHOP = "millrace-dev.myshopify.com";

/** Resources as Shopify's REST admin API has them, shortened to what handlers read. */
function order(request: SampleRequest): unknown {
  const at = new Date(request.nowMs).toISOString();
  const price = (amountOf(request.eventId) / 100).toFixed(2);
  return {
    id: numberOf(request, "order"),
    admin_graphql_api_id: `gid://shopify/Order/${numberOf(request, "order")}`,
    email: "ada@example.com",
    created_at: at,
    updated_at: at,
    currency: "EUR",
    financial_status: "paid",
    name: `#${1_000 + (numberOf(request, "name") % 9_000)}`,
    total_price: price,
    line_items: [
      { id: numberOf(request, "line"), title: "A mill", quantity: 1, price, sku: "MILL-1" },
    ],
    customer: customer(request),
  };
}

function product(request: SampleRequest): unknown {
  return {
    id: numberOf(request, "product"),
    title: "A mill",
    handle: "a-mill",
    vendor: "Millrace",
    status: "active",
    updated_at: new Date(request.nowMs).toISOString(),
    variants: [{ id: numberOf(request, "variant"), price: "19.00", sku: "MILL-1" }],
  };
}

function customer(request: SampleRequest): unknown {
  return {
    id: numberOf(request, "customer"),
    email: "ada@example.com",
    first_name: "Ada",
    last_name: "Lovelace",
  };
}

function numberOf(request: SampleRequest, salt: string): number {
  return Number.parseInt(digitsOf(request.eventId, salt, 12), 16);
}

export const shopifySamples = defineSamples(
  {
    "orders/create": order,
    "orders/paid": order,
    "products/update": product,
    "customers/create": customer,
    "app/uninstalled": () => ({ id: 548_380_009, name: "Millrace", domain: SAMPLE_SHOP }),
  },
  (request) => ({ id: numberOf(request, "resource") }),
);
