import type { Random } from "../random.ts";

export interface Plan {
  readonly sleepMs?: number;
  readonly emits?: boolean;
  readonly call?: CallPlan;
  readonly fails?: number;
  readonly permanent?: boolean;
  readonly hangs?: number;
  readonly heldBy?: string;
  readonly dies?: number;
  readonly blocks?: number;
  readonly blockMs?: number;
  readonly locks?: readonly number[];
  readonly raises?: number;
  readonly sqlState?: string;
}

export interface CallPlan {
  readonly steps: number;
  readonly hangs?: number;
  readonly loses?: number;
  readonly outlives?: number;
}

export type SourceName = "steady" | "frail" | "hub";

export interface PlannedEvent {
  readonly source: SourceName;
  readonly id: string;
  readonly type: string;
  readonly plan: Plan;
  readonly paddingBytes: number;
  readonly copies: number;
  readonly retries: boolean;
  readonly forged?: boolean;
}

export const ALWAYS = 1_000_000;

export function plainEvent(id: string, over: Partial<PlannedEvent> = {}): PlannedEvent {
  return {
    source: "steady",
    id,
    type: "test.follow",
    plan: {},
    paddingBytes: 0,
    copies: 1,
    retries: true,
    ...over,
  };
}

const CALM_TYPES: readonly string[] = ["test.calm", "test.set"];

export const CALLED_TYPE = "test.called";

const EMITTING_TYPES: readonly string[] = ["test.follow", "test.calm", CALLED_TYPE];

export function drawEvent(random: Random, id: string): PlannedEvent {
  const source = random.pick(["steady", "steady", "steady", "frail", "hub"] as const);
  const retries = source !== "hub" || random.chance(0.5);
  const type = random.chance(0.03)
    ? "test.nobody"
    : random.pick(["test.follow", "test.follow", ...CALM_TYPES, CALLED_TYPE]);
  const isCalled = type === CALLED_TYPE;
  const isCalm = isCalled || CALM_TYPES.includes(type);
  const drawn = isCalm ? drawCalmPlan(random, source) : drawPlan(random, source);
  const plan = isCalled ? { ...drawn, call: drawCallPlan(random) } : drawn;
  const isEmitting = EMITTING_TYPES.includes(type) && random.chance(0.4);
  return {
    source,
    id: drawId(random, id),
    type,
    plan: isEmitting ? { ...plan, emits: true } : plan,
    paddingBytes: drawSize(random),
    copies: retries ? drawCopies(random) : 1,
    retries,
    ...(random.chance(0.02) ? { forged: true } : {}),
  };
}

// Ids that BullMQ could not take as they are, too.
function drawId(random: Random, id: string): string {
  const forms = [id, id, id, id, `evt:${id}`, `${id} spaced`, `h-${id}`];
  return random.pick(forms);
}

function drawPlan(random: Random, source: SourceName): Plan {
  const kind = random.next();
  if (kind < 0.75) return {};
  if (kind < 0.85) return { sleepMs: random.between(20, 400) };
  if (kind < 0.97) return { fails: random.between(1, 3) };
  return drawHopeless(source);
}

// Few enough fail or are slow that groups of them are worth it.
function drawCalmPlan(random: Random, source: SourceName): Plan {
  const kind = random.next();
  if (kind < 0.93) return {};
  if (kind < 0.94) return { sleepMs: random.between(20, 400) };
  if (kind < 0.98) return { fails: random.between(1, 2) };
  return drawHopeless(source);
}

function drawCallPlan(random: Random): CallPlan {
  const steps = random.between(1, 2);
  const kind = random.next();
  if (kind < 0.8) return { steps };
  return kind < 0.98 ? { steps, loses: random.between(1, 2) } : { steps, hangs: 1 };
}

function drawHopeless(source: SourceName): Plan {
  return source === "frail" ? { fails: ALWAYS } : { permanent: true };
}

function drawSize(random: Random): number {
  if (random.chance(0.01)) return random.between(262_144, 400_000);
  return random.chance(0.1) ? random.between(4_000, 60_000) : random.between(0, 2_000);
}

function drawCopies(random: Random): number {
  if (random.chance(0.6)) return 1;
  return random.chance(0.8) ? random.between(2, 4) : random.between(5, 20);
}
