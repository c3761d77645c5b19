import type { Receiver } from "@millrace/intake";
import { checkParts, type Readiness } from "@millrace/service";

/**
 * An ingress is ready while it has a durable place for the events of some source; degraded when it is
 * not the place that the source wants, or one of them does not answer.
 */
export async function readinessOf(
  receiver: Pick<Receiver, "checks" | "placing">,
): Promise<Readiness> {
  const { parts } = await checkParts(receiver.checks);
  // Looked at afterwards: a place that did not answer its check is shut by now.
  const placing = receiver.placing();
  const ready = placing.some(({ place }) => place !== undefined);
  const isWhole =
    Object.values(parts).every((state) => state === "ok") &&
    placing.every(({ place, first }) => place === first);
  if (isWhole || !ready) return { ready, parts };
  const places = placing.map(({ source, place }) => [source, place ?? "none"] as const);
  return { ready, parts, degraded: { places: Object.fromEntries(places) } };
}
