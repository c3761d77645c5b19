import { defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function common(): Record<string, unknown> {
  const owner = { login: "octocat", id: 583_231, type: "User" };
  return {
    repository: {
      id: 1_296_269,
      name: "hello-world",
      full_name: "octocat/hello-world",
      private: false,
      owner,
      default_branch: "main",
    },
    sender: owner,
  };
}

function push(request: SampleRequest): unknown {
  const after = digitsOf(request.eventId, "after", 40);
  return {
    ref: "refs/heads/main",
    before: digitsOf(request.eventId, "before", 40),
    after,
    created: false,
    deleted: false,
    forced: false,
    pusher: { name: "octocat", email: "octocat@example.com" },
    commits: [
      {
        id: after,
        message: "Repair the build",
        timestamp: new Date(request.nowMs).toISOString(),
        author: { name: "The Octocat", email: "octocat@example.com", username: "octocat" },
        added: [],
        removed: [],
        modified: ["README.md"],
      },
    ],
    ...common(),
  };
}

function issues(request: SampleRequest): unknown {
  const number = 1 + (Number.parseInt(digitsOf(request.eventId, "issue", 8), 16) % 9_999);
  return {
    action: "opened",
    issue: {
      id: Number.parseInt(digitsOf(request.eventId, "id", 8), 16),
      number,
      title: `Something does not work (${number})`,
      state: "open",
      user: { login: "octocat", id: 583_231 },
      body: "Steps to see it are below.",
      created_at: new Date(request.nowMs).toISOString(),
      updated_at: new Date(request.nowMs).toISOString(),
    },
    ...common(),
  };
}

function ping(): unknown {
  return {
    zen: "Keep it logically awesome.",
    hook_id: 109_948_940,
    hook: { type: "Repository", active: true, events: ["push"] },
    ...common(),
  };
}

export const githubSamples = defineSamples({ push, issues, ping }, common);
