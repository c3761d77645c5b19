import { OPERATIONS } from "@millrace/api-contract";
import { parseConfig } from "@millrace/core";
import { standardWebhooks } from "@millrace/providers";
import { beforeAll, expect, test } from "vitest";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { onOneBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import {
  type Answer,
  bearer,
  CREDENTIALS,
  OPERATOR_TOKEN,
  OPS,
  type SendOptions,
  useDashboard,
  VIEWER_TOKEN,
} from "./dashboard-fixture.ts";

const CONFIG = parseConfig({
  sources: { acme: standardWebhooks({ forward: true }), patient: standardWebhooks() },
});
const JSON_TYPE = { "content-type": "application/json" };

const PARAMETERS: Readonly<Record<string, string>> = {
  "/runs/:id": "/runs/1",
  "/sessions/:id": "/sessions/none",
  ":source": "acme",
  ":eventId": "evt_bad_1",
  ":fingerprint": "1-",
};
const CALLS = Object.keys(OPERATIONS).map((name) => {
  const [method = "", path = ""] = name.split(" ");
  const named = Object.entries(PARAMETERS).reduce((text, [key, to]) => text.replace(key, to), path);
  return [method.toUpperCase(), `/api${named}`] as const;
});
const WRITES = CALLS.filter(([method]) => method !== "GET");
const POSTS = CALLS.filter(([method]) => method === "POST");
const isOpen = (path: string) => path === "/api/session" || path === "/api/openapi.json";
const GUARDED = CALLS.filter(([, path]) => !isOpen(path));

onOneBackend("the API's document", (prepare, backend) => {
  const dashboard = useDashboard(prepare, { credentials: CREDENTIALS, config: CONFIG });
  let check: AnswerCheck;

  beforeAll(async () => {
    check = checkAnswers((await dashboard.get("/api/openapi.json")).json);
    await dashboard.fail("evt_bad_1");
    await dashboard.fail("evt_bytes_1", { body: Buffer.from([0xff, 0x00]) });
    await dashboard.take("evt_good_1", { source: "patient" });
    await dashboard.complete("evt_good_1");
  });

  async function ask(
    status: number,
    [method, path]: readonly [method: string, path: string],
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const sent: SendOptions = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : JSON_TYPE;
    const answer = await dashboard.send(method, path, {
      headers: { ...type, ...bearer(OPERATOR_TOKEN), ...headers },
      ...sent,
    });
    expect([method, path, answer.status, answer.text]).toMatchObject([
      ...[method, path, status, expect.anything()],
    ]);
    expect(check.problemOf(method, path, answer)).toBeUndefined();
    return answer;
  }

  test("says what each call answers that goes well", async () => {
    await ask(200, ["POST", "/api/session"], { body: OPS });
    await ask(200, ["GET", "/api/session"]);
    await ask(204, ["DELETE", "/api/session"]);
    for (const path of [
      ...["openapi.json", "events", "event-count?status=failed", "event-count?source=acme"],
      ...["events?limit=1&status=failed&since=2020-01-01T00:00:00Z", "health", "stats"],
      ...["events/acme/evt_bad_1?generation=0", "events/acme/evt_bytes_1?generation=0"],
      ...["events/patient/evt_good_1?generation=0", "events/acme/evt_bad_1?body=false"],
      ...["events/acme/evt_bytes_1/body?offset=1", "activity?source=acme", "disagreements"],
      ...["events/acme/evt_bad_1/forward", "audit"],
    ]) {
      await ask(200, ["GET", `/api/${path}`]);
    }
    if (backend === "redis") {
      await dashboard.take("evt_queued_1");
      const shown = await ask(200, ["GET", "/api/events/acme/evt_queued_1"]);
      expect(shown.json.stage).toBe("queued");
      // A job that was taken out of its list by hand, or that moved while it was looked for.
      const removed = await withRedis(String(dashboard.servers.redisUrl), (client) =>
        client.lrem("bull:millrace-acme:wait", 1, "evt_queued_1"),
      );
      expect(removed).toBe(1);
      const lost = await ask(200, ["GET", "/api/events/acme/evt_queued_1"]);
      expect(lost.json.job_state).toBe("unknown");
    }
    await ask(200, ["POST", "/api/events/acme/evt_bytes_1/retry"], { body: { reason: "why" } });
    await ask(200, ["POST", "/api/events/patient/evt_good_1/replay"]);
    await ask(200, ["POST", "/api/events/patient/evt_good_1/edit"], { body: { body: "{}" } });
    await ask(200, ["GET", "/api/events/patient/evt_good_1"]);
    await ask(200, ["POST", "/api/retry"], { body: { source: "patient", dryRun: true } });
    const events = [{ source: "patient", event_id: "evt_good_1", generation: 0 }];
    await ask(200, ["POST", "/api/retry"], { body: { events } });
    await ask(409, ["POST", "/api/retry"], { body: { all: true } });
    for (const path of ["/api/replay", "/api/give-up"]) {
      await ask(409, ["POST", path], { body: { all: true, expected: 1_000 } });
    }
    const started = await ask(202, ["POST", "/api/retry"], {
      body: { all: true, rate: 100, limit: 1, expected: 1 },
    });
    await ask(202, ["POST", "/api/replay"], { body: { status: "completed", reason: "why" } });
    await ask(200, ["POST", "/api/replay"], { body: { status: "completed", dryRun: true } });
    await ask(202, ["POST", "/api/give-up"], { body: { source: "patient", type: "none" } });
    await ask(200, ["POST", "/api/give-up"], {
      body: { status: "pending", dryRun: true, all: true },
    });
    await ask(200, ["GET", "/api/runs?limit=2"]);
    const run = `/api/runs/${started.json.run.id}` as const;
    await ask(200, ["GET", run]);
    await ask(200, ["POST", run], { body: { state: "stopped", reason: "why" } });
    await ask(409, ["POST", run], { body: { rate: 5 } });
    await ask(200, ["POST", "/api/sources/acme/pause"], { body: { reason: "why" } });
    await ask(200, ["POST", "/api/sources/acme/resume"]);
    await ask(200, ["POST", "/api/session"], { body: OPS });
    const { sessions } = (await ask(200, ["GET", "/api/sessions"])).json;
    await ask(200, ["POST", `/api/sessions/${sessions[0].id}/end`], { body: { reason: "why" } });
    const errors = (await ask(200, ["GET", "/api/errors?state=open&source=acme"])).json;
    const { fingerprint } = errors.errors[0];
    await ask(200, ["GET", `/api/errors/${fingerprint}`]);
    const own = await ask(200, ["POST", `/api/errors/${fingerprint}`], { body: { mine: true } });
    expect(own.json.owner).toBe("deploy");
    const resolved = { state: "resolved", note: "fixed", reason: "why" };
    await ask(200, ["POST", `/api/errors/${fingerprint}`], { body: resolved });
    await ask(409, ["POST", `/api/errors/${fingerprint}`], { body: { mine: true } });
    await dashboard.ledger.intake.accept([event("evt_hopeless_1")]);
    await ask(200, ["POST", "/api/events/acme/evt_hopeless_1/give-up"], {
      body: { reason: "why" },
    });
    await ask(200, ["GET", "/api/audit?limit=2&source=acme"]);
  });

  test("says what each call is refused with", async () => {
    for (const query of [
      ...["/api/events?limit=0", "/api/events/acme/evt_bad_1?generation=x"],
      ...["/api/activity?source=", "/api/audit?cursor=x", "/api/errors?state=lost"],
      ...["/api/events/acme/evt_bad_1/body?offset=-1", "/api/events?order=up"],
      ...["/api/event-count?source=", "/api/runs?limit=0"],
      "/api/events/acme/evt_bad_1/forward?generation=x",
    ]) {
      await ask(400, ["GET", query]);
    }
    for (const call of POSTS) {
      await ask(400, call, { body: { colour: "red" } });
      // A retry may name 500 events, and an edit has a body.
      const size = call[1].endsWith("/edit")
        ? 5_000_000
        : call[1] === "/api/retry"
          ? 2_000_000
          : 20_000;
      await ask(413, call, { body: { reason: "x".repeat(size) } });
    }
    for (const call of WRITES) await ask(415, call, { headers: { "content-type": "text/plain" } });
    for (const call of GUARDED) await ask(401, call, { headers: { authorization: "" } });
    await ask(401, ["GET", "/api/session"], { headers: { authorization: "" } });
    await ask(401, ["POST", "/api/session"], { body: { ...OPS, password: "wrong" } });
    for (const call of CALLS) await ask(403, call, { headers: { host: "evil.example" } });
    for (const call of GUARDED.filter(([method]) => method === "POST")) {
      await ask(403, call, { headers: bearer(VIEWER_TOKEN) });
    }
    await ask(403, ["GET", "/api/events/patient/evt_good_1/forward"]);
    await ask(404, ["POST", "/api/give-up"], { body: { error: "none" } });
    for (const path of [
      ...["events/acme/evt_none_1/forward", "events/acme/evt_none_1", "events?error=none"],
      "events/acme/evt_none_1/body",
      ...["event-count?error=none", "errors/none", "runs/none"],
    ]) {
      await ask(404, ["GET", `/api/${path}`]);
    }
    for (const path of [
      ...["events/acme/evt_none_1/give-up", "sessions/none/end", "runs/999"],
      ...["sources/stranger/pause", "sources/stranger/resume"],
    ]) {
      await ask(404, ["POST", `/api/${path}`]);
    }
    for (const source of ["acme", "stranger"]) {
      await ask(404, ["POST", `/api/events/${source}/evt_none_1/edit`], { body: { body: "" } });
    }
    for (const verb of ["retry", "replay"]) {
      await ask(404, ["POST", `/api/events/acme/evt_none_1/${verb}`]);
      await ask(404, ["POST", `/api/events/stranger/evt_none_1/${verb}`]);
      await ask(404, ["POST", `/api/${verb}`], { body: { source: "stranger" } });
      await ask(409, ["POST", `/api/events/acme/evt_bytes_1/${verb}`]);
    }
    await ask(409, ["POST", "/api/events/patient/evt_good_1/replay?generation=0"]);
    await ask(409, ["POST", "/api/events/acme/evt_bad_1/give-up"]);
    await dashboard.pool.query(
      "INSERT INTO millrace.errors (fingerprint, title, code) VALUES ('9-a', '', ''), ('9-b', '', '')",
    );
    await ask(400, ["GET", "/api/errors/9-"]);
    await ask(404, ["POST", "/api/errors/none"], { body: { state: "open" } });
    await dashboard.fail("evt_lost_1");
    await dashboard.pool.query("DELETE FROM millrace.bodies");
    await ask(410, ["GET", "/api/events/acme/evt_lost_1/body"]);
    await ask(410, ["GET", "/api/events/acme/evt_lost_1/forward"]);
    for (const verb of ["retry", "replay"]) {
      await ask(410, ["POST", `/api/events/acme/evt_lost_1/${verb}`]);
    }
  });

  test("says what each call is answered after too many failures", async () => {
    for (let times = 0; times < 30; times += 1) {
      await dashboard.send("GET", "/api/events", { headers: bearer("wrong") });
    }
    for (const call of [...GUARDED, ["GET", "/api/session"] as const]) {
      await ask(429, call, { headers: bearer("wrong") });
    }
    await ask(200, ["GET", "/api/events"]);
    await ask(429, ["POST", "/api/session"], { body: OPS });
  });

  test("says nothing of answers that never come", () => {
    const unseen = check.documented.filter((answer) => !check.seen.has(answer));
    expect(unseen.filter((answer) => !/ (500|503)$/.test(answer))).toEqual([]);
  });
});

type AnswerCheck = ReturnType<typeof checkAnswers>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: object;
}
interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface ResponseObject {
  readonly content?: { readonly "application/json"?: { readonly schema: object } };
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function checkAnswers(document: Document) {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
  ajv.addFormat("date-time", ISO);
  ajv.addKeyword("components");
  const { components } = document;
  const routes = Object.entries(document.paths).map(([template, of]) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
    of,
  }));
  const seen = new Set<string>();
  const validators = new Map<string, ValidateFunction>();
  return {
    seen,
    documented: routes.flatMap(({ template, of }) =>
      Object.entries(of).flatMap(([method, { responses }]) =>
        Object.keys(responses).map((status) => `${method} ${template} ${status}`),
      ),
    ),
    problemOf: (method: string, path: string, answer: Answer) => {
      const bare = path.replace(/\?.*$/, "");
      const route = routes.find(({ pattern }) => pattern.test(bare));
      const name = `${method.toLowerCase()} ${route?.template} ${answer.status}`;
      const response = route?.of[method.toLowerCase()]?.responses[answer.status];
      if (route === undefined || response === undefined) return `${name} is not documented`;
      seen.add(name);
      if (response.content === undefined) return answer.text === "" ? undefined : "has a body";
      const { schema } = response.content["application/json"] ?? {};
      if (schema === undefined) return answer.json === undefined ? undefined : "is JSON";
      const validate = validators.get(name) ?? ajv.compile({ ...schema, components });
      validators.set(name, validate);
      if (validate(answer.json)) return undefined;
      return `${name}: ${ajv.errorsText(validate.errors)} in ${answer.text.slice(0, 500)}`;
    },
  };
}
