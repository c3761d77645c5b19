import { standardProvider } from "./standard-webhooks.ts";

// Senders that sign as Standard Webhooks has it, each with the form of its secret.

/** Events of the Claude API (`whsec_`). */
export const anthropic = standardProvider("anthropic");

/** Events of BigCommerce: the key is the text of the API account's client secret. */
export const bigcommerce = standardProvider("bigcommerce", { key: "utf8", type: "json:scope" });

/** Events of Clerk, by Svix (`whsec_`). */
export const clerk = standardProvider("clerk", { prefix: "svix" });

/** Events of Liveblocks (`whsec_`). */
export const liveblocks = standardProvider("liveblocks");

/** Events of OpenAI: a secret without `whsec_` is its text, as in OpenAI's SDK. */
export const openai = standardProvider("openai", { key: ["base64", "utf8"] });

/** Events of Polar: the key is the whole secret as text. */
export const polar = standardProvider("polar", { key: "utf8" });

/** Events of Resend, by Svix (`whsec_`). */
export const resend = standardProvider("resend", { prefix: "svix" });
