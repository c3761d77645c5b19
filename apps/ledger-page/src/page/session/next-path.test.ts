import { expect, test } from "vitest";
import { nextPath } from "./next-path.ts";

const ORIGIN = "https://dash.example.com";

test.each(["/queues", "/queues/queue/millrace-acme?status=failed", "/?status=failed#list"])(
  "%s is a path of ours, and followed",
  (path) => expect(nextPath(path, ORIGIN)).toBe(path),
);

test.each([
  null,
  "",
  "queues",
  "https://evil.example/",
  "//evil.example/queues",
  "/\\evil.example",
  "/\t/evil.example",
  "javascript:alert(1)",
])("%j is not followed", (path) => expect(nextPath(path, ORIGIN)).toBe("/"));
