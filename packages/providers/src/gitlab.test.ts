import { expect, test } from "vitest";
import { gitlab } from "./index.ts";
import { deliveryOf, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const tokens = gitlab({ auth: "token" });
const WHSEC = gitlab().provider.generateSecret();
const TOKEN = tokens.provider.generateSecret();

test("with a secret token the header must be it, for each live one", () => {
  const delivery = signedDelivery(tokens, { secret: TOKEN, eventId: "key-1" });
  expect(delivery.headers["x-gitlab-token"]).toBe(TOKEN);
  expect(verdict(tokens, ["another token", TOKEN], delivery)).toBe("ok");
  for (const value of ["", TOKEN.slice(1), `${TOKEN}x`, `${TOKEN}, ${TOKEN}`, "another"]) {
    const headers = { ...delivery.headers, "x-gitlab-token": value };
    expect(verdict(tokens, [TOKEN], { ...delivery, headers })).toBe("invalid_signature");
  }
  expect(verdict(tokens, [TOKEN], deliveryOf({}, "{}"))).toBe("invalid_signature");
  for (const bad of ["", "short", " padded token "]) {
    expect(() => tokens.provider.createVerifier([bad])).toThrow(
      expect.objectContaining({ code: "missing_secret" }),
    );
  }
});

test("a token beyond ASCII is compared in the bytes that the header carries", () => {
  const secret = "ünïcödé-token";
  const delivery = signedDelivery(tokens, { secret });
  expect(delivery.headers["x-gitlab-token"]).toBe(Buffer.from(secret).toString("latin1"));
  expect(verdict(tokens, [secret], delivery)).toBe("ok");
});

test("a signing token is never replaced by a secret token", () => {
  const signed = signedDelivery(gitlab(), { secret: WHSEC });
  const { "webhook-signature": _signature, ...unsigned } = signed.headers;
  const headers = { ...unsigned, "x-gitlab-token": WHSEC };
  expect(verdict(gitlab(), [WHSEC], { ...signed, headers })).toBe("invalid_signature");
});

test("the identity is signed with a signing token alone", () => {
  expect(gitlab().provider.idIsSigned).toBe(true);
  expect(tokens.provider.idIsSigned).toBe(false);
  const headers = {
    "webhook-id": "unsigned here",
    "idempotency-key": "key-1",
    "x-gitlab-webhook-uuid": "uuid",
  };
  const body = '{"object_kind":"push"}';
  expect(tokens.provider.identify(deliveryOf(headers, body))).toMatchObject({
    events: [{ eventId: "key-1", type: "push" }],
  });
  expect(
    tokens.provider.identify(deliveryOf({ "x-gitlab-webhook-uuid": "uuid" }, body)),
  ).toMatchObject({ events: [{ eventId: "uuid" }] });
  expect(gitlab().provider.identify(deliveryOf(headers, body))).toMatchObject({
    events: [{ eventId: "unsigned here" }],
  });
});

test("a system hook is of the type that it names, and a body without one is unknown", () => {
  const typeOf = (body: string) =>
    tokens.provider.identify(deliveryOf({ "idempotency-key": "1" }, body));
  expect(typeOf('{"event_name":"project_create"}')).toMatchObject({
    events: [{ type: "project_create" }],
  });
  expect(typeOf("{}")).toMatchObject({ events: [{ type: "unknown" }] });
});

test("no token is kept with an event", () => {
  for (const { provider } of [gitlab(), tokens]) {
    expect(provider.keptHeaders.join()).not.toMatch(/token|signature/);
  }
});

test("its own options are no policy", () => {
  expect(gitlab({ auth: "token", attempts: 2 }).options).toEqual({ attempts: 2 });
});
