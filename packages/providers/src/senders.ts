/** Every kind of sender that has a provider. docs/providers/facts.json has the sources of each. */
export { hmac, type HmacOptions } from "./hmac.ts";
export * from "./senders/code.ts";
export * from "./senders/commerce.ts";
export * from "./senders/messages.ts";
export * from "./senders/meta.ts";
export * from "./senders/standard.ts";
export * from "./senders/work.ts";
