import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { discord, sendgrid } from "./index.ts";
import { NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

/** The public half of a private key of ours, in DER. */
function publicDer(secret: string): Buffer {
  const key = createPrivateKey({
    key: Buffer.from(secret, "base64"),
    format: "der",
    type: "pkcs8",
  });
  return createPublicKey(key).export({ format: "der", type: "spki" });
}

const discordKey = (secret: string) => publicDer(secret).subarray(-32).toString("hex");
const sendgridKey = (secret: string) => publicDer(secret).toString("base64");

test("Discord's library accepts what we sign, and its public key is the secret of production", async () => {
  const secret = discord().provider.generateSecret();
  const key = discordKey(secret);
  const ours = signedDelivery(discord(), { secret });
  const signature = ours.headers["x-signature-ed25519"] ?? "";
  const time = ours.headers["x-signature-timestamp"] ?? "";
  expect(await verifyKey(ours.body, signature, time, key)).toBe(true);
  expect(await verifyKey(ours.body, signature, `${time}0`, key)).toBe(false);
  expect(verdict(discord(), [key], ours)).toBe("ok");
  expect(verdict(discord(), [key.toUpperCase()], ours)).toBe("ok");
  const other = discordKey(discord().provider.generateSecret());
  expect(verdict(discord(), [other], ours)).toBe("invalid_signature");
  expect(verdict(discord(), [other, key], ours)).toBe("ok");
});

test("SendGrid's SDK accepts what we sign, and its verification key is the secret of production", () => {
  const secret = sendgrid().provider.generateSecret();
  const key = sendgridKey(secret);
  const ours = signedDelivery(sendgrid(), { secret });
  const signature = ours.headers["x-twilio-email-event-webhook-signature"] ?? "";
  const time = ours.headers["x-twilio-email-event-webhook-timestamp"] ?? "";
  const sdk = new EventWebhook();
  const theirs = sdk.convertPublicKeyToECDSA(key);
  expect(sdk.verifySignature(theirs, Buffer.from(ours.body), signature, time)).toBe(true);
  expect(sdk.verifySignature(theirs, Buffer.from("[]"), signature, time)).toBe(false);
  expect(verdict(sendgrid(), [key], ours)).toBe("ok");
});

test.each([
  ["Discord", discord(), discordKey],
  ["SendGrid", sendgrid(), sendgridKey],
])("%s: who has the public key alone cannot sign, and is told so", (_name, source, keyOf) => {
  const secret = source.provider.generateSecret();
  const request = { eventId: "1", type: "t", body: Buffer.from("[]"), nowMs: NOW_MS };
  const sign = () => source.provider.sign({ ...request, secret: keyOf(secret) });
  expect(sign).toThrow(expect.objectContaining({ code: "missing_secret" }));
  expect(sign).toThrow(/the secret is a public key/);
  expect(sign).not.toThrow(keyOf(secret));
});

const otherCurve = generateKeyPairSync("ec", { namedCurve: "secp384r1" });
const spki = (key: typeof otherCurve.publicKey) =>
  key.export({ format: "der", type: "spki" }).toString("base64");

test.each([
  ["Discord, 31 bytes", discord(), "a".repeat(62)],
  ["Discord, 33 bytes", discord(), "a".repeat(66)],
  ["Discord, a key of SendGrid's", discord(), sendgridKey(sendgrid().provider.generateSecret())],
  ["Discord, a private key of SendGrid's", discord(), sendgrid().provider.generateSecret()],
  ["SendGrid, a key of Discord's", sendgrid(), discordKey(discord().provider.generateSecret())],
  ["SendGrid, another curve", sendgrid(), spki(otherCurve.publicKey)],
  ["SendGrid, with header lines", sendgrid(), "-----BEGIN PUBLIC KEY-----MFkw"],
])("%s is no secret, and is not quoted", (_name, source, secret) => {
  const make = () => source.provider.createVerifier([secret]);
  expect(make).toThrow(expect.objectContaining({ code: "missing_secret" }));
  expect(make).toThrow(/it must be the (public|verification) key/);
  expect(make).not.toThrow(secret);
});

test("a signature of another length is refused, not thrown at", () => {
  const cases = [
    [discord(), "x-signature-ed25519"],
    [sendgrid(), "x-twilio-email-event-webhook-signature"],
  ] as const;
  for (const [source, header] of cases) {
    const secret = source.provider.generateSecret();
    const good = signedDelivery(source, { secret });
    const signature = good.headers[header] ?? "";
    for (const value of ["", "0", "00", "AAAA", signature.slice(0, -4), signature + signature]) {
      const headers = { ...good.headers, [header]: value };
      expect(verdict(source, [secret], { ...good, headers })).toBe("invalid_signature");
    }
  }
});
