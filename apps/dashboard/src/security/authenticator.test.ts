import { afterAll, beforeEach, expect, test } from "vitest";
import {
  bearer,
  codeOf,
  cookieOf,
  CREDENTIALS,
  GUEST,
  OPS,
  serveAuthenticator,
  type AuthenticatorServer,
} from "./testing/authenticator-server.ts";

let at: AuthenticatorServer;
// Each test has minutes of its own, so that none is held up by the failures of another.
const clock = { ms: Date.now() };
beforeEach(async () => {
  clock.ms += 120_000;
  at ??= await serveAuthenticator(CREDENTIALS, clock);
});
afterAll(() => at?.close());

test("a stranger is told to sign in, and is given no session", async () => {
  for (const path of ["/api/events", "/metrics", "/queues/api/queues", "/api/session", "/no"]) {
    const answer = await at.ask(path);
    expect([path, codeOf(answer)]).toEqual([path, "401 unauthorized"]);
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="Millrace"');
    expect(answer.headers["set-cookie"]).toBeUndefined();
  }
});

test("a viewer looks and writes nothing, whatever it says that it is", async () => {
  const cookie = cookieOf(await at.signIn(GUEST));
  for (const headers of [{ cookie }, bearer("viewer-token-number-1")]) {
    expect((await at.ask("/api/events", headers)).json.role).toBe("viewer");
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const refused = await at.ask("/queues/api/queues/pause", headers, { method });
      expect([method, codeOf(refused)]).toEqual([method, "403 forbidden"]);
    }
  }
  const promoted = cookie.replace(".viewer.", ".operator.");
  expect(promoted).not.toBe(cookie);
  expect(codeOf(await at.ask("/", { cookie: promoted }))).toBe("401 unauthorized");
});

test.each([
  { origin: "https://evil.example" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
])("nobody is signed in or out by a page with %j", async (headers) => {
  const inward = await at.signIn(OPS, headers);
  expect([codeOf(inward), inward.headers["set-cookie"]]).toEqual(["403 forbidden", undefined]);
  const cookie = cookieOf(await at.signIn(OPS));
  const outward = await at.ask("/api/session", { cookie, ...headers }, { method: "DELETE" });
  expect([codeOf(outward), outward.headers["set-cookie"]]).toEqual(["403 forbidden", undefined]);
  const write = await at.ask("/api/retry", { cookie, ...headers }, { method: "POST" });
  expect(codeOf(write)).toBe("403 forbidden");
});

test("a form signs nobody in", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const body = `user=ops&password=${encodeURIComponent(OPS.password)}`;
  const answer = await at.ask("/api/session", form, { method: "POST", body });
  expect(codeOf(answer)).toBe("415 unsupported_media_type");
});

test.each([
  { nothing: true },
  { user: "ops" },
  { ...OPS, user: 1 },
  { ...OPS, role: "operator" },
  { user: { $ne: "" }, password: { $ne: "" } },
  { user: "u".repeat(300), password: "p" },
])("a sign-in with %j is not understood, and is recorded as no failure", async (given) => {
  for (let times = 0; times < 11; times += 1) {
    expect(codeOf(await at.signIn(given))).toBe("400 invalid_request");
  }
  expect((await at.signIn(OPS)).status).toBe(200);
});

test("wrong passwords are refused one by one, and 15 lock nobody out", async () => {
  const wrong = [
    { user: "ops", password: "p:ä, long enoughx" },
    { user: "ops", password: "p:ä, long enoug" },
    { user: "Ops", password: OPS.password },
    { user: "ops", password: GUEST.password },
    { user: GUEST.user, password: OPS.password },
  ];
  at.recorded.length = 0;
  for (const given of [...wrong, ...wrong, ...wrong]) {
    const refused = await at.signIn(given);
    expect([codeOf(refused), refused.headers["set-cookie"]]).toEqual([
      "401 unauthorized",
      undefined,
    ]);
  }
  expect((await at.signIn(OPS)).status).toBe(200);
  expect(at.recorded).toEqual([
    ...Array<string>(15).fill("wrong_password 127.0.0.1"),
    "signed_in ops 127.0.0.1",
  ]);
});

test("after 30 failures in a minute guesses are refused unchecked, and sessions and tokens work", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  for (let times = 0; times < 15; times += 1) {
    const wrong = await at.signIn({ ...OPS, password: "guessed" });
    expect(codeOf(wrong)).toBe("401 unauthorized");
    expect(codeOf(await at.ask("/", bearer("guessed")))).toBe("401 unauthorized");
  }
  for (const limited of [await at.signIn(OPS), await at.ask("/", bearer("guessed"))]) {
    expect(codeOf(limited)).toBe("429 too_many_failures");
    expect(limited.headers["retry-after"]).toBe("60");
  }
  expect((await at.ask("/", { cookie })).status).toBe(200);
  expect((await at.ask("/", bearer("operator-token-new"))).status).toBe(200);
  clock.ms += 59_999;
  expect(codeOf(await at.signIn(OPS))).toBe("429 too_many_failures");
  clock.ms += 1;
  expect((await at.signIn(OPS)).status).toBe(200);
});

test.each([
  [0, "203.0.113.9", "127.0.0.1"],
  [[], "203.0.113.9", "127.0.0.1"],
  [["10.0.0.0/8"], "203.0.113.9", "127.0.0.1"],
  [1, "192.0.2.1, 203.0.113.9", "203.0.113.9"],
  [["127.0.0.1"], "192.0.2.1, 203.0.113.9", "203.0.113.9"],
  [["127.0.0.0/8", "203.0.113.0/24"], "192.0.2.1, 203.0.113.9", "192.0.2.1"],
  [1, "2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"],
  [1, "192.0.2.1, <script>", "127.0.0.1"],
  [1, "192.0.2.1, 203.0.113.9:5000", "127.0.0.1"],
  [1, "", "127.0.0.1"],
] as const)("with trust in %j, X-Forwarded-For: %s is %s", async (trustProxy, header, network) => {
  const behind = await serveAuthenticator({ accounts: [], tokens: [] }, clock, { trustProxy });
  await behind.signIn({ ...OPS, password: "guessed" }, { "x-forwarded-for": header });
  expect(behind.recorded).toEqual([`wrong_password ${network}`]);
  await behind.close();
});

test("every live token lets its program in", async () => {
  for (const token of ["operator-token-new", "operator-token-old"]) {
    expect((await at.ask("/", bearer(token))).json).toEqual({
      user: "deploy",
      role: "operator",
      via: "token",
    });
    expect((await at.ask("/api/retry", bearer(token), { method: "POST" })).status).toBe(200);
  }
  expect(
    (await at.ask("/api/session", { authorization: "bearer viewer-token-number-1" })).json,
  ).toEqual({
    user: "prometheus",
    role: "viewer",
    via: "token",
  });
});

test("a session next to a wrong token does not make up for it", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  for (const token of ["x", "operator-token-ne", "operator-token-newx", "operator-token-new,"]) {
    expect(codeOf(await at.ask("/", { cookie, ...bearer(token) }))).toBe("401 unauthorized");
  }
});

test("HTTP Basic lets nobody in, and what a proxy left of it does not hurt", async () => {
  const text = Buffer.from(`${OPS.user}:${OPS.password}`).toString("base64");
  const authorization = `Basic ${text}`;
  expect(codeOf(await at.ask("/", { authorization }))).toBe("401 unauthorized");
  const cookie = cookieOf(await at.signIn(OPS));
  expect((await at.ask("/", { authorization, cookie })).status).toBe(200);
});

test("a browser that asks for the queues is sent to the sign-in, and comes back to no other site", async () => {
  const accept = "text/html,application/xhtml+xml";
  for (const [path, next] of [
    ["/queues", "/queues"],
    ["/queues/", "/queues/"],
    [
      "/queues/queue/millrace-a?status=failed&x=%2F",
      "/queues/queue/millrace-a%3Fstatus%3Dfailed%26x%3D%252F",
    ],
  ] as const) {
    const sent = await at.ask(path, { accept });
    expect([sent.status, sent.headers.location]).toEqual([303, `/?next=${next}`]);
  }
  for (const [path, headers] of [
    ["http://evil.example/queues", { accept }],
    ["/queuesx", { accept }],
    ["/queues", { accept: "application/json" }],
    ["/api/events", { accept }],
  ] as const) {
    const answer = await at.ask(path, headers);
    expect([path, answer.status, answer.headers.location]).toEqual([path, 401, undefined]);
  }
  const write = await at.ask("/queues/api/queues/pause", { accept }, { method: "PUT" });
  expect(write.status).toBe(401);
});

test("without credentials whoever reaches it is an operator, and there is nothing to sign in to", async () => {
  await at.close();
  at = await serveAuthenticator(undefined, clock);
  const local = { user: null, role: "operator", via: "local" };
  for (const headers of [{}, bearer("anything"), { cookie: "millrace_session=x" }]) {
    expect((await at.ask("/api/session", headers)).json).toEqual(local);
    expect((await at.ask("/api/retry", headers, { method: "POST" })).json).toEqual(local);
  }
  expect(codeOf(await at.signIn(OPS))).toBe("401 unauthorized");
  await at.close();
  at = await serveAuthenticator(CREDENTIALS, clock);
});

test("other methods of a session are refused", async () => {
  const answer = await at.ask("/api/session", {}, { method: "PUT" });
  expect([codeOf(answer), answer.headers.allow]).toEqual([
    "405 method_not_allowed",
    "GET, HEAD, POST, DELETE",
  ]);
});
