import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function event(request: SampleRequest, more: Record<string, unknown>): unknown {
  return {
    object_kind: request.type,
    event_name: request.type,
    project: {
      id: 15,
      name: "Mill",
      path_with_namespace: "ada/mill",
      web_url: "https://gitlab.example.com/ada/mill",
      default_branch: "main",
    },
    ...more,
  };
}

const user = { id: 4, name: "Ada Lovelace", username: "ada" };

function push(request: SampleRequest): unknown {
  const after = digitsOf(request.eventId, "after", 40);
  return event(request, {
    before: digitsOf(request.eventId, "before", 40),
    after,
    ref: request.type === "tag_push" ? "refs/tags/v1.0.0" : "refs/heads/main",
    checkout_sha: after,
    user_id: user.id,
    user_username: user.username,
    project_id: 15,
    commits: [
      { id: after, message: "Repair the build", timestamp: new Date(request.nowMs).toISOString() },
    ],
    total_commits_count: 1,
  });
}

export const gitlabSamples = defineSamples(
  {
    push,
    tag_push: push,
    merge_request: (request) =>
      event(request, {
        user,
        object_attributes: {
          id: numberOf(request),
          iid: 1 + (numberOf(request) % 999),
          title: "Repair the mill",
          state: "opened",
          action: "open",
          source_branch: "fix",
          target_branch: "main",
        },
      }),
    pipeline: (request) =>
      event(request, { user, object_attributes: { id: numberOf(request), status: "success" } }),
  },
  (request) => event(request, { user, object_attributes: { id: numberOf(request) } }),
);

function numberOf({ eventId }: SampleRequest): number {
  return Number.parseInt(digitsOf(eventId, "number", 8), 16);
}
