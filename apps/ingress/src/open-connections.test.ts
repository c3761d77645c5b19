import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { OpenConnections } from "./ingress-server.ts";

/** The used parts of a socket. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

function opened(count: number) {
  const connections = new OpenConnections();
  const sockets = Array.from({ length: count }, () => new FakeSocket());
  for (const socket of sockets) connections.add(socket as unknown as Socket);
  const ended = () => sockets.flatMap(({ destroyed }, index) => (destroyed ? [index] : []));
  return { connections, sockets, ended };
}

const nobody = () => false;

test("the connection that was opened first is ended first, and not one that is closed already", () => {
  const { connections, sockets, ended } = opened(5);
  sockets[1]?.emit("close");
  sockets[3]?.emit("close");
  expect(connections.count).toBe(3);
  connections.endOldest(nobody);
  connections.endOldest(nobody);
  expect(ended()).toEqual([0, 2]);
  connections.endOldest(nobody);
  expect([ended(), connections.count]).toEqual([[0, 2, 4], 0]);
  connections.endOldest(nobody);
  expect(connections.count).toBe(0);
});

test("a connection that is being answered is passed over, and counts as new", () => {
  const { connections, sockets, ended } = opened(4);
  const [answered] = sockets;
  connections.endOldest((socket) => Object.is(socket, answered));
  expect(ended()).toEqual([1]);
  connections.endOldest(nobody);
  connections.endOldest(nobody);
  expect(ended()).toEqual([1, 2, 3]);
});

test("when many are being answered the newest is ended", () => {
  for (const count of [3, 300]) {
    const { connections, ended } = opened(count);
    connections.endOldest(() => true);
    expect([ended(), connections.count]).toEqual([[count - 1], count - 1]);
  }
});
