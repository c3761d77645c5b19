import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { BODY_CANARY, SECRET_CANARY, standard } from "./senders.ts";
import type { Target } from "./target.ts";
import { withHeader } from "./wire.ts";

const CREDENTIAL_CANARY = "CanaryCredent1al";

export function secrets(tests: LineTests, target: () => Target): void {
  tests.proves(58, "what a sender's credentials were is kept nowhere", async () => {
    const body = `{"type":"test.effect","card":"${BODY_CANARY}"}`;
    let request = standard("credentials_1", body);
    for (const name of ["authorization", "cookie", "proxy-authorization", "x-api-key"]) {
      request = withHeader(request, name, CREDENTIAL_CANARY);
    }
    await target().take(request, "credentials_1");
    const unsigned = withHeader(request, "webhook-signature", "v1,x");
    expect(await target().refusal(unsigned)).toBe("401 invalid_signature");
    expect(await target().storedText()).not.toContain(CREDENTIAL_CANARY);
  });

  tests.proves(58, "no secret, credential or body is in a log, a metric or an answer", async () => {
    const { ingress, worker, dashboard, answers } = target();
    const metrics = await Promise.all(
      [ingress, worker].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    const outputs = [ingress, worker, dashboard].map((role) => role.output());
    for (const text of outputs) expect(text).toContain("listening");
    for (const text of [...outputs, ...metrics, ...answers]) {
      expect(text).not.toMatch(
        new RegExp([SECRET_CANARY, CREDENTIAL_CANARY, BODY_CANARY].join("|")),
      );
      // And nothing that a terminal would obey, or that would begin a line of its own.
      expect(text).not.toContain("\u001b");
    }
  });

  tests.proves(58, "no secret is in the ledger or the queue", async () => {
    const stored = await target().storedText();
    expect(stored).toContain("credentials_1");
    expect(stored).not.toContain(SECRET_CANARY);
  });
}
