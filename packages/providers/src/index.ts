/**
 * Providers: how each kind of sender signs, names and types its deliveries.
 *
 * A provider is a table of facts (`stripe.ts` is the shortest) on two things: a signature scheme
 * (`signature/`), which verifies the raw bytes in constant time against each live secret, and
 * `identify` (`identity/`), which finds event id and type where the provider documents them.
 *
 * Data flows one way: delivery → `Verifier.verify` → `identify` → events, or a handshake's answer.
 * Pure functions: no I/O, no clock, no state. The caller passes the time that a signed timestamp is
 * compared with. To sign is for tests and `millrace send` only.
 */
export { discord } from "./discord.ts";
export { newEventId } from "./random-text.ts";
export { github } from "./github.ts";
export { gitlab, type GitlabOptions } from "./gitlab.ts";
export { hmac } from "./hmac.ts";
export type { HmacOptions } from "./hmac-options.ts";
export { hookMesh, type HookMeshOptions } from "./hook-mesh.ts";
export { internal, type InternalOptions } from "./internal.ts";
export { linear } from "./linear.ts";
export { meta, type MetaOptions } from "./meta.ts";
export { paddle } from "./paddle.ts";
export { sendgrid } from "./sendgrid.ts";
export { shopify } from "./shopify.ts";
export { slack } from "./slack.ts";
export { square, type SquareOptions } from "./square.ts";
export { standardWebhooks } from "./standard-webhooks.ts";
export { stripe } from "./stripe.ts";
export { svix } from "./svix.ts";
export { twilio, type TwilioOptions } from "./twilio.ts";
export { zoom } from "./zoom.ts";
