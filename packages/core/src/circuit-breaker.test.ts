import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCircuitBreaker } from "./circuit-breaker.ts";

describe("createCircuitBreaker", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("closes when a probe is answered", async () => {
    let up = false;
    const breaker = createCircuitBreaker(() =>
      up ? Promise.resolve() : Promise.reject(new Error("down")),
    );
    breaker.trip();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(breaker.isOpen).toBe(true);
    up = true;
    await vi.advanceTimersByTimeAsync(200);
    expect(breaker.isOpen).toBe(false);
  });

  it("closes when a probe is answered late", async () => {
    let answer = () => {};
    const breaker = createCircuitBreaker(() => new Promise<void>((resolve) => (answer = resolve)));
    breaker.trip();
    const first = answer;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(breaker.isOpen).toBe(true);
    first();
    await vi.advanceTimersByTimeAsync(1_200);
    expect(breaker.isOpen).toBe(false);
  });

  it("asks one at a time, however often it is tripped, and not at all when stopped", async () => {
    const probe = vi.fn<() => Promise<void>>(() => Promise.reject(new Error("down")));
    const breaker = createCircuitBreaker(probe);
    breaker.trip();
    breaker.trip();
    expect(probe).toHaveBeenCalledTimes(1);
    breaker.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(probe).toHaveBeenCalledTimes(1);
    breaker.trip();
    expect(probe).toHaveBeenCalledTimes(1);
  });
});
