import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { alertTo } from "./alerts.ts";

/** Takes one email; `refuses` answers its recipients with 550. */
async function startMailServer(refuses: boolean) {
  const received: string[] = [];
  const server = createServer((socket) => {
    const say = (line: string) => socket.write(`${line}\r\n`);
    let isBody = false;
    say("220 mail.test");
    socket.on("data", (data) => {
      const text = data.toString();
      received.push(text);
      if (isBody) {
        if (!text.endsWith("\r\n.\r\n")) return;
        isBody = false;
        say("250 taken");
      } else if (text.startsWith("DATA")) {
        isBody = true;
        say("354 go on");
      } else if (text.startsWith("QUIT")) say("221 bye");
      else say(refuses && text.startsWith("RCPT") ? "550 nobody" : "250 ok");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { received, url: `smtp://127.0.0.1:${port}`, close: () => server.close() };
}

const alert = {
  kind: "error.opened",
  key: "1-a",
  title: "New error in shop: No stock\r\nBcc: stranger@example.com",
  details: ["Thrown at src/paid.ts:7"],
  url: "https://ops.test/errors/1-a",
};
const signal = new AbortController().signal;

test("an email has the title as its subject, and the details and the link as its text", async () => {
  const server = await startMailServer(false);
  const channel = alertTo.email({ to: "ops@example.com", from: "hooks@example.com" });
  await channel.send(alert, { target: server.url, signal });
  server.close();
  const sent = server.received.join("");
  expect(sent).toContain("MAIL FROM:<hooks@example.com>");
  expect(sent).toContain("RCPT TO:<ops@example.com>");
  expect(sent).toContain("Thrown at src/paid.ts:7\r\n\r\nhttps://ops.test/errors/1-a");
  // A title comes from an error, whose text can have line breaks: it adds no header.
  expect(sent).not.toMatch(/^RCPT TO:<stranger|^Bcc:.*\r\nMIME/m);
  expect(sent).toMatch(/^Subject: New error in shop: No stock/m);
});

test("an email that the server refuses is an error, so that the alert is sent again", async () => {
  const server = await startMailServer(true);
  const channel = alertTo.email({ to: "ops@example.com" });
  await expect(channel.send(alert, { target: server.url, signal })).rejects.toThrow("550 nobody");
  server.close();
});

test("at PagerDuty, messages of one incident have one key, whatever their titles", async () => {
  const keys: unknown[] = [];
  const server = createHttpServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      keys.push(JSON.parse(body).dedup_key);
      response.end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const channel = alertTo.pagerduty({ url: `http://127.0.0.1:${port}` });
  for (const over of [{}, { title: "15 % failed" }, { key: "1-b" }]) {
    await channel.send({ ...alert, ...over }, { target: "key", signal });
  }
  server.close();
  expect(keys).toEqual(["error.opened 1-a", "error.opened 1-a", "error.opened 1-b"]);
});
