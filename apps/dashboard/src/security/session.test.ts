import { createHmac } from "node:crypto";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createSessions } from "./sessions.ts";
import {
  ACCOUNTS,
  codeOf,
  cookieOf,
  CREDENTIALS,
  GUEST,
  OPS,
  serveAuthenticator,
  type AuthenticatorServer,
} from "./testing/authenticator-server.ts";

const HOUR_MS = 3_600_000;

let at: AuthenticatorServer;
// Each test has minutes of its own, so that none is held up by the failures of another.
const clock = { ms: Date.now() };
beforeEach(async () => {
  clock.ms += 120_000;
  at ??= await serveAuthenticator(CREDENTIALS, clock);
});
afterAll(() => at?.close());

test("a session is one of its user, in a cookie that no script reads and no other site sends", async () => {
  const signedIn = await at.signIn(OPS);
  expect([signedIn.status, signedIn.json]).toEqual([
    200,
    { user: "ops", role: "operator", via: "session" },
  ]);
  const [cookie] = signedIn.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(
    /^millrace_session=[\w.-]+; Max-Age=43200; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
  );
  const headers = { cookie: cookieOf(signedIn) };
  expect((await at.ask("/api/session", headers)).json).toEqual(signedIn.json);
  expect((await at.ask("/api/events", headers)).json).toEqual(signedIn.json);
  expect((await at.ask("/api/retry", headers, { method: "POST" })).status).toBe(200);
});

test("where TLS ends before us, the cookie is Secure and no sibling host can set it", async () => {
  const host = "dash.example.com";
  const signedIn = await at.signIn(OPS, { host, origin: `https://${host}` });
  expect(signedIn.headers["set-cookie"]?.[0]).toMatch(/^__Host-millrace_session=.*; Secure;/);
  const secure = cookieOf(signedIn);
  const guest = cookieOf(await at.signIn(GUEST));
  for (const cookie of [`${guest}; ${secure}`, `${secure}; ${guest}`]) {
    expect((await at.ask("/", { cookie })).json.user).toBe("ops");
  }
  const plain = await at.signIn(OPS, { host, origin: `http://${host}` });
  expect(plain.headers["set-cookie"]?.[0]).not.toContain("Secure");
});

test("signing out ends the session for whoever has a copy of it, and no other", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  const other = cookieOf(await at.signIn(OPS));
  await at.ask("/api/session", { cookie }, { method: "DELETE" });
  expect((await at.ask("/", { cookie })).status).toBe(401);
  expect((await at.ask("/", { cookie: other })).status).toBe(200);
});

test("signing out makes the browser forget, whoever asks", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  for (const headers of [{ cookie }, {}]) {
    const out = await at.ask("/api/session", headers, { method: "DELETE" });
    expect(out.status).toBe(204);
    for (const name of ["millrace_session", "__Host-millrace_session"]) {
      const cleared = out.headers["set-cookie"]?.find((one) => one.startsWith(`${name}=;`));
      expect(cleared).toContain("Expires=Thu, 01 Jan 1970");
    }
  }
});

test("a name with a line break and a semicolon comes back as it is, and sets no header", async () => {
  const signedIn = await at.signIn(GUEST);
  expect(signedIn.headers["set-cookie"]).toHaveLength(1);
  expect(cookieOf(signedIn)).toMatch(/^millrace_session=[\w.-]+$/);
  expect((await at.ask("/", { cookie: cookieOf(signedIn) })).json.user).toBe(GUEST.user);
});

test("a session ends after twelve hours, and one from a clock far ahead is none", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  clock.ms += 12 * HOUR_MS - 2_000;
  expect((await at.ask("/", { cookie })).status).toBe(200);
  clock.ms += 2_000;
  expect((await at.ask("/", { cookie })).status).toBe(401);
  clock.ms += HOUR_MS;
  const ahead = cookieOf(await at.signIn(OPS));
  clock.ms -= 4 * 60_000;
  expect((await at.ask("/", { cookie: ahead })).status).toBe(200);
  clock.ms -= 10 * 60_000;
  expect((await at.ask("/", { cookie: ahead })).status).toBe(401);
});

test("dashboards with one password take each other's sessions, and a changed password ends them", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  const guest = cookieOf(await at.signIn(GUEST));
  await at.close();
  at = await serveAuthenticator(CREDENTIALS, clock);
  expect((await at.ask("/", { cookie })).status).toBe(200);
  await at.close();
  const [ops, guest_] = ACCOUNTS;
  const accounts = [{ ...ops, password: "another one" }, guest_];
  at = await serveAuthenticator({ accounts, tokens: [] }, clock);
  expect((await at.ask("/", { cookie })).status).toBe(401);
  expect((await at.ask("/", { cookie: guest })).status).toBe(200);
  await at.close();
  at = await serveAuthenticator(CREDENTIALS, clock);
});

test("every change of a session's text makes it none", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  const text = cookie.slice("millrace_session=".length);
  for (const [index, character] of Array.from(text).entries()) {
    const other = character === "A" ? "B" : "A";
    const changed = text.slice(0, index) + other + text.slice(index + 1);
    const answer = await at.ask("/", { cookie: `millrace_session=${changed}` });
    expect([changed, answer.status]).toEqual([changed, 401]);
  }
});

test("a session that was signed with something else than the password is none", async () => {
  const [, role, expires, user, id] = cookieOf(await at.signIn(OPS)).split(".");
  const payload = `2.${role}.${expires}.${user}.${id}`;
  for (const key of ["", OPS.password, "millrace"]) {
    const mac = createHmac("sha256", key).update(payload).digest("base64url");
    expect((await at.ask("/", { cookie: `millrace_session=${payload}.${mac}` })).status).toBe(401);
  }
  const strange = createSessions([{ ...OPS, password: "guessed wrong", role: "operator" }]);
  const session = strange.issue({ user: "ops", role: "operator" }).text;
  expect((await at.ask("/", { cookie: `millrace_session=${session}` })).status).toBe(401);
});

test("of two cookies of one name neither counts, wherever they stand", async () => {
  const ours = cookieOf(await at.signIn(OPS));
  const planted = cookieOf(await at.signIn(GUEST));
  for (const cookie of [`${planted}; ${ours}`, `${ours}; ${planted}`, `${ours}; ${ours}`]) {
    expect((await at.ask("/", { cookie })).status).toBe(401);
  }
  expect((await at.ask("/", { cookie: [planted, ours] })).status).toBe(401);
});

test.each([
  ...["", ";", "=", "millrace_session", "millrace_session=", 'millrace_session="', ";;;=;="],
  ...["millrace_session=1.operator.9999999999.b3Bz.", `millrace_session=${"x".repeat(8_000)}`],
  `millrace_session=2.operator.9999999999.b3Bz.${"A".repeat(22)}.${"A".repeat(43)}`,
  ...["millrace_session=%00", "__proto__=1; constructor=2", "MILLRACE_SESSION=1", "\u00ff=\u00fe"],
  "millrace_session=1.operator.99999999999999999999.b3Bz.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
])("a cookie %j is nobody's", async (cookie) => {
  expect(codeOf(await at.ask("/", { cookie }))).toBe("401 unauthorized");
});

test("our cookie among others is found, and one whose name only ends like it is another", async () => {
  const cookie = cookieOf(await at.signIn(OPS));
  expect((await at.ask("/", { cookie: `a=b;${cookie};c="d"; e` })).status).toBe(200);
  expect((await at.ask("/", { cookie: `x${cookie}` })).status).toBe(401);
});

test("signing in keeps no session that was planted before", async () => {
  const planted = cookieOf(await at.signIn(GUEST));
  const signedIn = await at.signIn(OPS, { cookie: planted });
  expect(cookieOf(signedIn)).not.toBe(planted);
  expect((await at.ask("/", { cookie: cookieOf(signedIn) })).json.user).toBe("ops");
});
