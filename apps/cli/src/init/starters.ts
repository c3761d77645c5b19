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
interface Starter {
  /** The name of the import from `millrace`. */
  readonly factory: string;
  /** Its argument as code; empty where it needs none. */
  readonly options: string;
  readonly provider: Provider;
}

const SQUARE = { url: "https://example.com/webhooks/square" };
const TWILIO = { url: "https://example.com/webhooks/twilio" };
const META = { verifyToken: "choose-a-token" };

/** Options of those that have to be given some, by what is imported. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  square: SQUARE,
  twilio: TWILIO,
  meta: META,
};

const SOURCES = {
  ...{ stripe: stripe(), github: github(), gitlab: gitlab(), shopify: shopify(), slack: slack() },
  ...{ square: square(SQUARE), paddle: paddle(), linear: linear(), twilio: twilio(TWILIO) },
  ...{ sendgrid: sendgrid(), discord: discord(), meta: meta(META), zoom: zoom(), svix: svix() },
  ...{ standardWebhooks: standardWebhooks(), hookMesh: hookMesh() },
};

/** The senders that `millrace init` knows, by their provider's name, which their source gets. */
export const STARTERS: Readonly<Record<string, Starter>> = Object.fromEntries(
  Object.entries(SOURCES).map(([factory, { provider }]) => {
    return [provider.name, { factory, options: asCode(OPTIONS[factory]), provider }];
  }),
);

function asCode(options: Readonly<Record<string, string>> = {}): string {
  const fields = Object.entries(options).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return fields.length === 0 ? "" : `{ ${fields.join(", ")} }`;
}
