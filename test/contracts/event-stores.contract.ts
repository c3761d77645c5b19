import { Receiver, type IntakeNotice, type ReceiverDeps } from "@millrace/intake";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { plainConfig, SECRETS, signed } from "../intake/plain-config.ts";
import { until } from "../support/until.ts";

export interface EventStores {
  readonly stores: ReceiverDeps["stores"];
  readonly ack: "queue" | "ledger";
  bodyOf(eventId: string): Promise<string | undefined>;
  conflictsOf?(eventId: string): Promise<number>;
  /** Of a delivery with another body, where nothing can keep it. Default 200. */
  readonly conflictStatus?: 503;
  repeatsOf?(eventId: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function eventStoresContract(title: string, open: () => Promise<EventStores>): void {
  describe(`an event that is put into ${title}`, () => {
    let opened: EventStores;
    let receiver: Receiver;
    let notices: IntakeNotice[];

    beforeEach(async () => {
      opened = await open();
      notices = [];
      receiver = new Receiver({
        config: plainConfig({ answerTimeoutMs: 5_000 }, { ack: opened.ack }),
        secrets: SECRETS,
        stores: opened.stores,
        notify: (notice) => notices.push(notice),
      });
    });
    afterEach(async () => {
      await receiver?.close();
      await opened?.close();
    });

    const deliver = async (data: unknown, source = "plain") => {
      const { body, headers } = signed(data);
      const url = `/webhooks/${source}`;
      const request = { source, method: "POST", url, headers, body: Buffer.from(body) };
      return (await receiver.receive(request)).status;
    };

    test("is accepted, and kept byte for byte", async () => {
      const text = '{ "id":"evt_1",\n"n":1.0,"x":"\\u0000", "é":"\\ud800" }';
      expect(await deliver(text)).toBe(202);
      expect(await opened.bodyOf("evt_1")).toBe(text);
    });

    test("is a duplicate the second time, and of another source another event", async () => {
      expect(await deliver({ id: "evt_2" })).toBe(202);
      expect(await deliver({ id: "evt_2" })).toBe(200);
      expect(await deliver({ id: "evt_2" }, "large")).toBe(202);
    });

    test("is accepted once of twenty at once", async () => {
      const same = Array.from({ length: 20 }, () => deliver({ id: "evt_3" }));
      expect((await Promise.all(same)).filter((status) => status === 202)).toHaveLength(1);
    });

    test("keeps its first body, and another one under its id is notified", async () => {
      expect(await deliver({ id: "evt_4", n: 1 })).toBe(202);
      expect(await deliver({ id: "evt_4", n: 2 })).toBe(opened.conflictStatus ?? 200);
      expect(await deliver({ id: "evt_4", n: 1 })).toBe(200);
      expect(await opened.bodyOf("evt_4")).toBe('{"id":"evt_4","n":1}');
      if (opened.conflictStatus !== undefined) return;
      expect(notices.filter(({ kind }) => kind === "conflict")).toEqual([
        { kind: "conflict", source: "plain", eventId: "evt_4" },
      ]);
      const { conflictsOf } = opened;
      if (conflictsOf !== undefined) await until(async () => (await conflictsOf("evt_4")) === 1);
    });

    test("is counted each time it comes again, behind the answer", async () => {
      expect(await deliver({ id: "evt_5", n: 1 })).toBe(202);
      expect(await deliver({ id: "evt_5", n: 1 })).toBe(200);
      expect(await deliver({ id: "evt_5", n: 2 })).toBe(opened.conflictStatus ?? 200);
      const { repeatsOf } = opened;
      if (repeatsOf === undefined) return;
      const repeats = ["duplicate", "conflict"];
      await until(async () => String(await repeatsOf("evt_5")) === String(repeats));
    });

    test("is accepted with others of its delivery, when all of them are kept", async () => {
      expect(await deliver([{ id: "a_1" }, { id: "a_2" }])).toBe(202);
      expect(await deliver([{ id: "a_2" }, { id: "a_3" }])).toBe(opened.conflictStatus ?? 202);
      if (opened.conflictStatus !== undefined) return;
      expect(await deliver([{ id: "a_1" }, { id: "a_3" }])).toBe(200);
      expect(await opened.bodyOf("a_3")).toBeDefined();
    });

    test("may have a body of a megabyte", async () => {
      const text = JSON.stringify({ id: "evt_large", x: "x".repeat(1_000_000) });
      expect(await deliver(text, "large")).toBe(202);
      expect(await deliver(text, "large")).toBe(200);
    });
  });
}
