import { generationOf, type EffectRow, type Evidence, type LedgerRow } from "./evidence.ts";
import type { Finding } from "./finding.ts";

/** I3 and I4: a handled event has one effect, that of its last attempt; every other event has none. */
export function checkOnce({ rows, effects }: Evidence): Finding[] {
  const byEvent = groupEffects(effects);
  const ledger = new Map(rows.map((row) => [generationOf(row), row]));
  const orphans = [...byEvent.keys()].filter((key) => !ledger.has(key));
  return [
    ...rows.flatMap((row) => checkRow(row, byEvent.get(generationOf(row)) ?? [])),
    ...orphans.map((key) => ({
      invariant: "I4 ATOMIC",
      text: `${key} has an effect and no row in the ledger`,
    })),
  ];
}

function checkRow(row: LedgerRow, effects: readonly EffectRow[]): Finding[] {
  const key = generationOf(row);
  const isHandled = row.status === "completed" && row.outcome === "handled";
  if (effects.length > 1) {
    const attempts = effects.map(({ attempt }) => attempt).join(", ");
    return [{ invariant: "I3 ONCE", text: `${key} has ${effects.length} effects: ${attempts}` }];
  }
  if (isHandled !== (effects.length === 1)) {
    const state = `${row.status}, ${row.outcome}, with ${effects.length} effects`;
    return [{ invariant: "I4 ATOMIC", text: `${key} is ${state}` }];
  }
  const attempt = effects[0]?.attempt;
  if (attempt !== undefined && attempt !== row.attempts) {
    const text = `${key} was completed by attempt ${attempt} of ${row.attempts}`;
    return [{ invariant: "I4 ATOMIC", text }];
  }
  return [];
}

function groupEffects(effects: readonly EffectRow[]): Map<string, EffectRow[]> {
  const groups = new Map<string, EffectRow[]>();
  for (const effect of effects) {
    const key = generationOf(effect);
    groups.set(key, [...(groups.get(key) ?? []), effect]);
  }
  return groups;
}
