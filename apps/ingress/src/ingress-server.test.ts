import { expect, test } from "vitest";
import { hotRoute } from "./ingress-server.ts";

test.each([
  ["/webhooks/stripe", "stripe"],
  ["/webhooks/stripe?token=a/b?c", "stripe"],
  ["/webhooks/", ""],
  ["/webhooks/stripe/", "stripe/"],
  ["/webhooks/%73tripe", "%73tripe"],
  ["/webhooks", undefined],
  ["/webhooks?x=/webhooks/stripe", undefined],
  ["/Webhooks/stripe", undefined],
  ["//webhooks/stripe", undefined],
  ["/healthz", undefined],
  ["*", undefined],
])("%s names %s", (url, source) => {
  expect(hotRoute(url)).toBe(source);
});
