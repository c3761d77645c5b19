import { expect, test } from "vitest";
import { formatBytes } from "./retention.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [16_384, "16 kB"],
  [1_234_567_890, "1.2 GB"],
  [5e15, "5000 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
