import { expect, test } from "vitest";
import {
  apiFilter,
  eventLink,
  fromLocal,
  isFiltered,
  readFilter,
  toLocal,
  writeFilter,
} from "./list-filter.ts";

test("a filter survives the way through a URL", () => {
  const filter = { source: "shop", status: "failed", type: "a&b=c", q: "evt_%20 ü|/x", last: "1h" };
  expect(readFilter(new URLSearchParams(writeFilter(filter)))).toEqual(filter);
});

test("what is empty or not a filter's is left out", () => {
  expect(readFilter(new URLSearchParams("source=&cursor=abc&q=x"))).toEqual({ q: "x" });
  expect(writeFilter({ source: "", q: "x" })).toBe("q=x");
  expect(isFiltered({})).toBe(false);
  expect(isFiltered({ outcome: "ignored" })).toBe(true);
});

test("a span becomes the time that it began, by the clock that it is given", () => {
  const now = Date.parse("2026-01-31T12:00:00Z");
  expect(apiFilter({ source: "a", last: "1h" }, now)).toEqual({
    source: "a",
    since: "2026-01-31T11:00:00.000Z",
  });
  expect(apiFilter({ since: "2026-01-01T00:00:00Z", last: "no span" }, now)).toEqual({
    since: "2026-01-01T00:00:00Z",
  });
  expect(apiFilter({ q: "x" }, now)).toEqual({ q: "x" });
});

test("an event's link carries whatever its id is made of", () => {
  const link = eventLink("shop", "a/b?c=d&e|%2F", 2);
  const query = new URLSearchParams(link.split("?").slice(1).join("?"));
  expect(query.get("id")).toBe("a/b?c=d&e|%2F");
  expect(query.get("generation")).toBe("2");
  expect(eventLink("shop", "x")).toBe("/event?source=shop&id=x");
});

test.each(["2026-01-31T12:00:05.000Z", "2026-07-01T00:00:00.000Z"])(
  "%s is the same instant after a way through the field",
  (instant) => expect(fromLocal(toLocal(instant))).toBe(instant),
);

test("what is no time leaves the field empty, and an empty field is no time", () => {
  expect(toLocal("yesterday")).toBe("");
  expect(toLocal(undefined)).toBe("");
  expect(fromLocal("")).toBe("");
});
