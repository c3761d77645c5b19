import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function payload(request: SampleRequest, data: Record<string, unknown>): unknown {
  const [type, ...action] = request.type.split(".");
  const at = new Date(request.nowMs).toISOString();
  return {
    ...(action.length > 0 && { action: action.join(".") }),
    type,
    createdAt: at,
    data: { id: uuidOf(request, "data"), createdAt: at, updatedAt: at, ...data },
    organizationId: uuidOf(request, "organization"),
    webhookId: "000042e3-d123-4980-b49f-8e140eef9329",
    webhookTimestamp: request.nowMs,
  };
}

function issue(request: SampleRequest): unknown {
  const number = 1 + (Number.parseInt(digitsOf(request.eventId, "issue", 8), 16) % 9_999);
  return payload(request, {
    number,
    title: `Repair the mill (${number})`,
    priority: 2,
    state: { name: request.type === "Issue.create" ? "Todo" : "Done" },
    team: { key: "MIL", name: "Millrace" },
  });
}

function uuidOf({ eventId }: SampleRequest, salt: string): string {
  const digits = digitsOf(eventId, salt, 32);
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}

export const linearSamples = defineSamples(
  {
    "Issue.create": issue,
    "Issue.update": issue,
    "Comment.create": (request) =>
      payload(request, { body: "It turns again.", issueId: uuidOf(request, "issue") }),
    "Project.update": (request) => payload(request, { name: "The mill", state: "started" }),
  },
  (request) => payload(request, {}),
);
