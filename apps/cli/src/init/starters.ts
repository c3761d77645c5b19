import type { Provider } from "@millrace/core";
import {
  discord,
  github,
  gitlab,
  hookMesh,
  linear,
  meta,
  paddle,
  sendgrid,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  svix,
  twilio,
  zoom,
} from "@millrace/providers";

/** A source as `millrace init` writes it. */
export interface Starter {
  /** What is imported from `millrace`. */
  readonly factory: string;
  /** What is given to it, where it cannot do without. */
  readonly options?: string;
  readonly provider: Provider;
}

const URL = "https://example.com/webhooks";

/** The senders that `millrace init` knows, by the name their source gets. */
export const STARTERS: Readonly<Record<string, Starter>> = {
  stripe: { factory: "stripe", provider: stripe().provider },
  github: { factory: "github", provider: github().provider },
  gitlab: { factory: "gitlab", provider: gitlab().provider },
  shopify: { factory: "shopify", provider: shopify().provider },
  slack: { factory: "slack", provider: slack().provider },
  square: {
    factory: "square",
    options: `{ url: "${URL}/square" }`,
    provider: square({ url: `${URL}/square` }).provider,
  },
  paddle: { factory: "paddle", provider: paddle().provider },
  linear: { factory: "linear", provider: linear().provider },
  twilio: {
    factory: "twilio",
    options: `{ url: "${URL}/twilio" }`,
    provider: twilio({ url: `${URL}/twilio` }).provider,
  },
  sendgrid: { factory: "sendgrid", provider: sendgrid().provider },
  discord: { factory: "discord", provider: discord().provider },
  meta: {
    factory: "meta",
    options: `{ verifyToken: "choose-a-token" }`,
    provider: meta({ verifyToken: "choose-a-token" }).provider,
  },
  zoom: { factory: "zoom", provider: zoom().provider },
  svix: { factory: "svix", provider: svix().provider },
  "standard-webhooks": { factory: "standardWebhooks", provider: standardWebhooks().provider },
  hookmesh: { factory: "hookMesh", provider: hookMesh().provider },
};
