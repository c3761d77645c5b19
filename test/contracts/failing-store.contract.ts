import { describe, expect, test } from "vitest";
import { codeOf, useAdapter, type OpenAdapter } from "./adapter-fixture.ts";

export function failingStoreContract(title: string, open: OpenAdapter): void {
  describe(`a delivery by ${title} to a store that fails`, () => {
    const it = useAdapter(open);

    test("a store that throws is answered 503 with Retry-After", async () => {
      it.store.before = () => Promise.reject(new Error("down"));
      const answer = await it.deliver({ id: "evt_6" });
      expect([answer.status, codeOf(answer)]).toEqual([503, "unavailable"]);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(1);
      expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(5);
      expect(answer.text).not.toContain("down");
      it.store.before = undefined;
      expect((await it.deliver({ id: "evt_6" })).status).toBe(202);
    });

    test("a store that hangs is answered 503 in time, and heals", async () => {
      it.store.before = () => new Promise(() => {});
      const startedMs = performance.now();
      const answers = await Promise.all(
        Array.from({ length: 160 }, (_, index) => it.deliver({ id: `evt_hung_${index}` })),
      );
      // One after the other they would take minutes. They are more than one call takes.
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      it.store.before = undefined;
      // A call that was begun meanwhile may still hang, and what waits behind it is refused with it.
      let turn = 0;
      const heal = async () => (await it.deliver({ id: `evt_7_${(turn += 1)}` })).status;
      await expect.poll(heal, { timeout: 30_000 }).toBe(202);
      // What nobody waited for any longer was not sent after the hung call.
      expect(it.store.calls.reduce((sum, size) => sum + size, 0)).toBeLessThan(160);
    });

    test("a store that fails late is only logged", async () => {
      let fail: (error: Error) => void = () => {};
      it.store.before = () => new Promise((_resolve, reject) => (fail = reject));
      expect((await it.deliver({ id: "evt_8" })).status).toBe(503);
      fail(new Error("late"));
      await expect
        .poll(() => it.notices.filter(({ kind }) => kind === "store_failed"))
        .toMatchObject([{ store: "queue", events: 1 }]);
    });

    async function behindHeldCall(turn: number, heldMs: number): Promise<readonly number[]> {
      let open_ = () => {};
      it.store.before = () => new Promise<void>((resolve) => (open_ = resolve));
      const before = it.store.calls.length;
      const first = it.deliver({ id: `evt_first_${turn}` });
      await expect.poll(() => it.store.calls.length).toBe(before + 1);
      const shared = Promise.all(
        [`evt_new_${turn}`, "evt_known", "evt_refused"].map((id) => it.deliver({ id })),
      );
      await new Promise((resolve) => setTimeout(resolve, heldMs));
      it.store.before = undefined;
      open_();
      expect((await first).status).toBe(202);
      expect((await shared).map(({ status }) => status)).toEqual([202, 200, 503]);
      return it.store.calls.slice(before);
    }

    test("deliveries that share a call are each answered from their own result", async () => {
      await it.deliver({ id: "evt_known" });
      it.store.refused.add("evt_refused");
      // On a socket the three take a moment to be read, longer on a busy machine.
      const sizes: number[] = [];
      for (const heldMs of [50, 150, 450]) {
        sizes.splice(0, sizes.length, ...(await behindHeldCall(heldMs, heldMs)));
        if (sizes.length === 2) break;
      }
      expect(sizes).toEqual([1, 3]);
    });
  });
}
