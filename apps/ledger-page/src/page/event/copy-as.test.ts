import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlCommand, sendCommand } from "./copy-as.ts";

const event = {
  ...{ source: "acme", event_id: "evt'1", type: "order.paid" },
  headers: { "x-note": "it's $HOME" },
};
const BODY = '{"name":"O\'Brien `x` $(id)"}\n';

/** The arguments that a shell gives to the command after the last `|`. */
const run = (command: string): string =>
  execFileSync(
    "sh",
    ["-c", `npx() { printf '%s\\n' "$@"; cat; }; curl() { printf '%s\\n' "$@"; }; ${command}`],
    {
      encoding: "utf8",
    },
  );

test("a shell reads the command to send an event again as it was meant", () => {
  const args = ["millrace", "send", "acme", "order.paid", "--id", "evt'1", "--data", "-"];
  expect(run(sendCommand(event, BODY))).toBe(`${args.join("\n")}\n${BODY}`);
});

test("a shell reads the curl of an event as it was meant", () => {
  const url = "http://localhost:3000/webhooks/acme";
  const args = ["-X", "POST", url, "-H", "x-note: it's $HOME", "--data-binary", BODY];
  expect(run(curlCommand(event, BODY))).toBe(`${args.join("\n")}\n`);
});
