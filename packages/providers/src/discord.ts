import type {
  Answer,
  Delivery,
  Identification,
  SourceDefinition,
  SourceOptions,
} from "@millrace/core";
import { jsonAnswer } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import {
  readDelivery,
  type DeliveryReader,
  type Found,
  firstOf,
  json,
  jsonDigest,
  type Locator,
} from "./identity/delivery-reader.ts";
import { withHandshake, identifyOne } from "./identity/identify.ts";
import { discordSamples } from "./samples/discord-samples.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { publicKeyAlgorithm, ed25519, randomPrivateKey } from "./signature/public-key-algorithm.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { LONG_TOLERANCE_MS } from "./signature/signed-message.ts";

const NO_CONTENT: Answer = {
  status: 204,
  headers: { "content-type": "application/json" },
  body: "",
};

/**
 * Interactions by Discord's number: their documented names, and the answer that leaves the rest to
 * a handler, which has fifteen minutes to edit it. An autocompletion cannot wait, and gets no
 * choices.
 */
const INTERACTIONS: Readonly<Record<string, { readonly type: string; readonly answer: Answer }>> = {
  2: { type: "APPLICATION_COMMAND", answer: jsonAnswer({ type: 5 }) },
  3: { type: "MESSAGE_COMPONENT", answer: jsonAnswer({ type: 6 }) },
  4: {
    type: "APPLICATION_COMMAND_AUTOCOMPLETE",
    answer: jsonAnswer({ type: 8, data: { choices: [] } }),
  },
  5: { type: "MODAL_SUBMIT", answer: jsonAnswer({ type: 5 }) },
};

/**
 * Discord, its interactions and its webhook events: Ed25519 over `<time><body>`, checked with the
 * application's public key. Both begin with a PING, which has an answer of its own in each.
 *
 * Source: Discord's pages on interactions (overview, receiving and responding) and on webhook
 * events.
 */
const provider = defineProvider({
  name: "discord",
  scheme: signatureScheme({
    algorithm: publicKeyAlgorithm(ed25519),
    format: plainSignature(),
    header: "x-signature-ed25519",
    message: "{ts}{body}",
    timestamp: { header: "x-signature-timestamp", unit: "s" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  identify: withHandshake(pong, identifyWithAnswer),
  idIsSigned: true,
  repeatsDays: 1,
  keptHeaders: ["content-type"],
  samples: discordSamples,
  generateSecret: () => randomPrivateKey(ed25519),
});

/**
 * Interactions and webhook events of Discord. Identity: an interaction's `id`, and the SHA-256 of a
 * webhook event, which has none; type: the event's, or the interaction's name
 * (`APPLICATION_COMMAND`).
 */
export function discord<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, never> {
  return { provider, options };
}

function pong(reader: DeliveryReader): Answer | undefined {
  const type = reader.json(["type"]);
  if (typeof type === "string" || isWebhookEvent(reader)) return undefined;
  if (type.text === "0") return NO_CONTENT;
  return type.text === "1" ? jsonAnswer({ type: 1 }) : undefined;
}

function identifyWithAnswer(delivery: Delivery): Identification {
  const found = identifyEvent(delivery);
  if (!found.ok || found.kind !== "events") return found;
  return { ...found, answer: interactionIn(readDelivery(delivery))?.answer ?? NO_CONTENT };
}

const interactionType: Locator = (reader): Found => {
  const interaction = interactionIn(reader);
  return interaction === undefined ? "missing" : { text: interaction.type };
};

const identifyEvent = identifyOne({
  id: firstOf(jsonDigest("event", "application_id"), json("id")),
  type: firstOf(json("event.type"), interactionType),
  typeIsOptional: true,
});

function interactionIn(reader: DeliveryReader) {
  const type = reader.json(["type"]);
  if (typeof type === "string" || isWebhookEvent(reader)) return undefined;
  return Object.hasOwn(INTERACTIONS, type.text) ? INTERACTIONS[type.text] : undefined;
}

function isWebhookEvent(reader: DeliveryReader): boolean {
  return typeof reader.jsonBytes(["event"]) !== "string";
}
