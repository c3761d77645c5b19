import { createServer } from "node:http";
import { expect, test } from "vitest";
import { closeServer, listen } from "./http-server.ts";

test("a port that is taken is named", async () => {
  const first = createServer();
  const host = "127.0.0.1";
  const port = await listen(first, { port: 0, host });
  await expect(listen(createServer(), { port, host })).rejects.toMatchObject({
    code: "port_in_use",
    message: `Cannot listen on 127.0.0.1:${port}: the port is taken`,
  });
  await closeServer(first, { timeoutMs: 1_000 });
});

test("an address of another machine is a mistake in HOST", async () => {
  // TEST-NET-1 of RFC 5737 is nobody's.
  await expect(listen(createServer(), { port: 0, host: "192.0.2.1" })).rejects.toMatchObject({
    code: "invalid_config",
    message: "Cannot listen on 192.0.2.1:0: HOST is no address of this machine",
  });
});
