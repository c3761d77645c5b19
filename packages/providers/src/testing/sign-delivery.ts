import type { Delivery, Provider, SourceDefinition, Verification, Verifier } from "@millrace/core";

/** A fixed clock for tests: 2026-01-01, to the second. */
export const NOW_MS = Date.UTC(2026, 0, 1);

/** A delivery as the ingress makes one. */
export function deliveryOf(
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  receivedAtMs = NOW_MS,
): Delivery {
  return {
    method: "POST",
    url: "/webhooks/test",
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    body: typeof body === "string" ? Buffer.from(body) : body,
    receivedAtMs,
  };
}

/** A delivery that the provider signed itself. */
export function signedDelivery(
  { provider }: { provider: Provider },
  request: { secret: string; eventId?: string; type?: string; body?: string; nowMs?: number },
): Delivery {
  const { secret, eventId = "evt_1", nowMs = NOW_MS } = request;
  const type = request.type ?? provider.sampleTypes[0] ?? "test";
  const body = Buffer.from(request.body ?? provider.sample({ eventId, type, nowMs }));
  return deliveryOf(provider.sign({ eventId, type, body, secret, nowMs }), body);
}

/** The verification of a provider that is synchronous, as every one with a signature is. */
export function verifyNow(verifier: Verifier, delivery: Delivery): Verification {
  const verification = verifier.verify(delivery);
  if (verification instanceof Promise) throw new Error("It does not verify synchronously");
  return verification;
}

/** The verdict of a source on a delivery: `ok`, or the code. */
export function verdict(
  source: SourceDefinition,
  secrets: readonly string[],
  delivery: Delivery,
): string {
  const { toleranceMs } = source.options;
  const verifier = source.provider.createVerifier(
    secrets,
    toleranceMs === undefined ? {} : { toleranceMs },
  );
  const result = verifyNow(verifier, delivery);
  return result.ok ? "ok" : result.code;
}
