import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function envelope(object: string, entry: Record<string, unknown>): unknown {
  return { object, entry: [{ id: "102290129340398", ...entry }] };
}

function whatsapp(request: SampleRequest): unknown {
  const value = {
    messaging_product: "whatsapp",
    metadata: { display_phone_number: "15550783881", phone_number_id: "106540352242922" },
    contacts: [{ profile: { name: "Ada Lovelace" }, wa_id: "16505551234" }],
    messages: [
      {
        from: "16505551234",
        id: `wamid.${digitsOf(request.eventId, "wamid", 40)}`,
        timestamp: String(Math.floor(request.nowMs / 1_000)),
        type: "text",
        text: { body: "Is the mill open?" },
      },
    ],
  };
  return envelope("whatsapp_business_account", { changes: [{ value, field: "messages" }] });
}

function messenger(request: SampleRequest): unknown {
  const update = {
    sender: { id: "1254459154682919" },
    recipient: { id: "102290129340398" },
    timestamp: request.nowMs,
    message: { mid: `m_${digitsOf(request.eventId, "mid", 40)}`, text: "Is the mill open?" },
  };
  return envelope("page", { time: request.nowMs, messaging: [update] });
}

function change(request: SampleRequest): unknown {
  const [object = "page", ...field] = request.type.split(".");
  const value = { id: digitsOf(request.eventId, "value", 17), text: "How it turns!" };
  const changes = [{ field: field.join("."), value }];
  return envelope(object, { time: Math.floor(request.nowMs / 1_000), changes });
}

export const metaSamples = defineSamples(
  {
    "whatsapp_business_account.messages": whatsapp,
    "page.message": messenger,
    "page.feed": change,
    "instagram.comments": change,
  },
  change,
);
