import { expect, test } from "vitest";
import { github, hmac, hookMesh, standardWebhooks, stripe } from "../index.ts";

const base64 = /must be the base64 of at least 16 bytes, with its padding, with whsec_ in front/;
const hex = /must be at least 32 hexadecimal digits/;
const text = /must be text of at least 8 bytes/;

test.each([
  ["standardWebhooks", standardWebhooks(), "whsec_not*base64*canary", base64],
  ["standardWebhooks, too short", standardWebhooks(), "whsec_Y2FuYXJ5", base64],
  ["stripe", stripe(), "whsec_canary", text],
  ["github", github(), "canary", text],
  ["hookMesh", hookMesh(), "canary", text],
  ["hookMesh with a hexadecimal key", hookMesh({ key: "hex" }), "canary-no-digits-at-all", hex],
  ["hmac", hmac({ header: "x-s", id: "json:id", key: "hex" }), "c".repeat(33), hex],
])(
  "a wrong secret of %s is told its right form, and is not quoted",
  (_name, source, secret, form) => {
    for (const secrets of [[secret], [source.provider.generateSecret(), secret]]) {
      const make = () => source.provider.createVerifier(secrets);
      expect(make).toThrow(form);
      expect(make).toThrow(secrets.length === 1 ? /the secret is malformed/ : /secret 2 of 2 is/);
      expect(make).not.toThrow(/canary|c{33}/);
      expect(make).not.toThrow(secrets[0]);
    }
  },
);
