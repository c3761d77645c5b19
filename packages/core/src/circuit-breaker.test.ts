import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCircuitBreaker } from "./circuit-breaker.ts";

describe("createCircuitBreaker", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("opens again when a probe is answered", async () => {
    let up = false;
    const gate = createCircuitBreaker(() =>
      up ? Promise.resolve() : Promise.reject(new Error("down")),
    );
    gate.trip();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(gate.shut).toBe(true);
    up = true;
    await vi.advanceTimersByTimeAsync(200);
    expect(gate.shut).toBe(false);
  });

  it("opens when a probe is answered late", async () => {
    let answer = () => {};
    const gate = createCircuitBreaker(() => new Promise<void>((resolve) => (answer = resolve)));
    gate.trip();
    const first = answer;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(gate.shut).toBe(true);
    first();
    await vi.advanceTimersByTimeAsync(1_200);
    expect(gate.shut).toBe(false);
  });

  it("asks one at a time, however often it is tripped, and not at all when closed", async () => {
    const probe = vi.fn<() => Promise<void>>(() => Promise.reject(new Error("down")));
    const gate = createCircuitBreaker(probe);
    gate.trip();
    gate.trip();
    expect(probe).toHaveBeenCalledTimes(1);
    gate.close();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(probe).toHaveBeenCalledTimes(1);
    gate.trip();
    expect(probe).toHaveBeenCalledTimes(1);
  });
});
