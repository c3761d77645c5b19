import { expect, test } from "vitest";
import { readVerdict } from "./send-many.ts";

const answer = (status: number, body: string) =>
  readVerdict({ kind: "answer", status, body, ms: 1 });

test("an answer tells accepted from duplicate by its body", () => {
  expect(answer(202, '{"status":"accepted"}')).toBe("accepted");
  expect(answer(200, '{"status":"duplicate"}')).toBe("duplicate");
});

test("a provider's own answer that says nothing of it is an acceptance", () => {
  expect(answer(200, "[accepted]")).toBe("accepted");
  expect(answer(204, "")).toBe("accepted");
  expect(answer(200, "null")).toBe("accepted");
});

test("a refusal is named by its code, or by its status where it has none", () => {
  expect(answer(401, '{"error":{"code":"invalid_signature"}}')).toEqual({
    rejected: "invalid_signature",
  });
  expect(answer(502, "<html>")).toEqual({ rejected: "http_502" });
  expect(readVerdict({ kind: "no_answer", reason: "cut", refused: false })).toEqual({
    rejected: "no_answer",
  });
});
