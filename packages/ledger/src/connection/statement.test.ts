import { expect, test } from "vitest";
import { statement } from "./statement.ts";

test("a parameter has one number wherever it stands", () => {
  const find = statement(
    "SELECT :id::text, ':' || :name WHERE at = '10:30:00' AND id = :id",
    "find",
  );
  expect(find({ name: "b", id: "a", other: 1 })).toEqual({
    name: "find",
    text: "SELECT $1::text, ':' || $2 WHERE at = '10:30:00' AND id = $1",
    values: ["a", "b"],
  });
});

test("a missing value is an error, and null is none", () => {
  const find = statement("SELECT :id");
  expect(find({ id: null })).toEqual({ text: "SELECT $1", values: [null] });
  expect(() => find({})).toThrow('Cannot run SELECT :id: no value for ":id"');
});
