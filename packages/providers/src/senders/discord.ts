import type { AnswerParts } from "../answers.ts";
import { defineProvider } from "../define-provider.ts";
import { type DeliveryReader, digest, type Found } from "../identity/locations.ts";
import samples from "../samples/discord.json" with { type: "json" };
import { signature } from "../signature/signature.ts";
import { LONG_TOLERANCE_MS } from "../signature/signed-message.ts";

const NO_CONTENT = { status: 204, type: "application/json" };

// Interactions by Discord's number: their documented names, and the answer that leaves the rest to
// a handler, which has fifteen minutes to edit it. An autocompletion cannot wait, and gets no
// choices.
const INTERACTIONS: Readonly<Record<string, { readonly name: string; readonly body: object }>> = {
  2: { name: "APPLICATION_COMMAND", body: { type: 5 } },
  3: { name: "MESSAGE_COMPONENT", body: { type: 6 } },
  4: { name: "APPLICATION_COMMAND_AUTOCOMPLETE", body: { type: 8, data: { choices: [] } } },
  5: { name: "MODAL_SUBMIT", body: { type: 5 } },
};

/**
 * Discord, its interactions and its webhook events, checked with the application's public key. Both
 * begin with a PING, which has an answer of its own in each. A webhook event has no id.
 */
export const discord = defineProvider({
  name: "discord",
  verify: signature({
    header: "x-signature-ed25519",
    algorithm: "ed25519",
    message: "{ts}{body}",
    time: { header: "x-signature-timestamp" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: [digest("json:event", "json:application_id"), "json:id"],
  type: ["json:event.type", interactionType],
  typeIsOptional: true,
  idIsSigned: true,
  repeatsDays: 1,
  handshake: pong,
  answer: (request) => interactionIn(request) ?? NO_CONTENT,
  samples,
});

function pong(reader: DeliveryReader): AnswerParts | undefined {
  const type = reader.read("json:type");
  if (isWebhookEvent(reader)) return undefined;
  if (type === "0") return NO_CONTENT;
  return type === "1" ? { body: { type: 1 } } : undefined;
}

function interactionType(reader: DeliveryReader): Found {
  const interaction = interactionIn(reader);
  return interaction === undefined ? "missing" : { text: interaction.name };
}

function interactionIn(reader: DeliveryReader) {
  const type = reader.read("json:type") ?? "";
  if (isWebhookEvent(reader)) return undefined;
  return Object.hasOwn(INTERACTIONS, type) ? INTERACTIONS[type] : undefined;
}

function isWebhookEvent({ jsonBytes }: DeliveryReader): boolean {
  return typeof jsonBytes(["event"]) !== "string";
}
