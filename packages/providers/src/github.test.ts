import { expect, test } from "vitest";
import { github } from "./index.ts";
import { deliveryOf } from "./testing/sign-delivery.ts";

const headers = { "x-github-delivery": "72d3162e", "x-github-event": "push" };
const of = (type: string, id?: string) => ({
  ...headers,
  "x-github-hook-installation-target-type": type,
  ...(id === undefined ? {} : { "x-github-hook-installation-target-id": id }),
});
const found = (given: Record<string, string>) =>
  github().provider.identify(deliveryOf(given, "{}"));

test("two apps at one address have events of their own, and the hooks of one event have not", () => {
  expect(found(of("integration", "1"))).toMatchObject({ events: [{ eventId: "72d3162e.1" }] });
  expect(found(of("integration", "2"))).toMatchObject({ events: [{ eventId: "72d3162e.2" }] });
  for (const given of [headers, of("repository", "1"), of("organization", "2")]) {
    expect(found(given)).toMatchObject({ events: [{ eventId: "72d3162e" }] });
  }
  expect(found(of("integration"))).toMatchObject({ code: "invalid_event_id" });
});
