import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { connect } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

let ingress: TestIngress;
beforeAll(async () => {
  ingress = await startTestIngress({ batchMax: 1 });
});
afterAll(() => ingress.close());

test("what is no request, behind two that came together, is not answered in the second's place", async () => {
  let goOn = () => {};
  const second = new Promise<void>((resolve) => (goOn = resolve));
  ingress.store.before = () => (ingress.store.calls.length === 2 ? second : Promise.resolve());
  const sender = await connect(ingress.port);
  sender.write(rawRequest({ id: "evt_1", type: "a" }) + rawRequest({ id: "evt_2", type: "a" }));
  expect(await sender.statuses(1)).toEqual([202]);
  await until(() => ingress.store.calls.length === 2);
  sender.write("\0 this is no request\r\n\r\n");
  await sender.ended();
  goOn();
  await until(() => ingress.store.events.size === 2);
  expect(sender.received().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 202"]);
  sender.end();
});
