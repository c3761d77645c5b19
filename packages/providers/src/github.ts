import { defineProvider } from "./define-provider.ts";
import { locate, type Locator } from "./identity/locations.ts";
import samples from "./samples/github.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { textToHeader } from "./identity/delivery-reader.ts";
import { GITHUB_TYPES } from "./types/github-types.ts";

const DELIVERY = locate("header:x-github-delivery");
const OF_APP = locate("{header:x-github-delivery}.{header:x-github-hook-installation-target-id}");

/** Two apps at one address get one delivery id for one event, with bodies of their own. */
const id: Locator = (reader) => {
  const target = reader.delivery.headers["x-github-hook-installation-target-type"];
  return target === "integration" ? OF_APP(reader) : DELIVERY(reader);
};

/**
 * Events of GitHub. Id and type stand in headers that the signature does not cover. The old SHA-1
 * header is not looked at. Identity: `X-GitHub-Delivery`, of an app with a `.` and the app's id
 * behind it; type: `X-GitHub-Event`.
 *
 * Source: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries; payloads
 * are capped at 25 MB (https://docs.github.com/webhooks/webhook-events-and-payloads).
 */
export const github = defineProvider({
  name: "github",
  idPrefix: "uuid",
  verify: signature({ header: "x-hub-signature-256", prefix: "sha256=" }),
  id,
  type: "header:x-github-event",
  repeatsDays: 3,
  types: GITHUB_TYPES,
  bodyBytesMax: 25 * 1024 * 1024,
  keptHeaders: [
    "content-type",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-github-hook-installation-target-id",
    "x-github-hook-installation-target-type",
  ],
  samples,
  sampleHeaders: ({ eventId }) => ({ "x-github-delivery": textToHeader(eventId) }),
});
