import { expect, test } from "vitest";
import {
  apiFilter,
  eventLink,
  isFiltered,
  readFilter,
  searchTerm,
  termsOf,
  writeFilter,
} from "./list-filter.ts";

test("a filter survives the way through a URL", () => {
  const filter = { source: "shop", status: "failed", find: "type:a&b=c evt_%20 ü|/x", last: "1h" };
  expect(readFilter(new URLSearchParams(writeFilter(filter)))).toEqual(filter);
});

test("what is empty or not a filter's is left out", () => {
  expect(readFilter(new URLSearchParams("source=&cursor=abc&find=x"))).toEqual({ find: "x" });
  expect(writeFilter({ source: "", find: "x" })).toBe("find=x");
  expect(isFiltered({})).toBe(false);
  expect(isFiltered({ status: "failed" })).toBe(true);
});

test("a span becomes the time that it began, by the clock that it is given", () => {
  const now = Date.parse("2026-01-31T12:00:00Z");
  expect(apiFilter({ source: "a", last: "1h" }, now)).toEqual({
    source: "a",
    since: "2026-01-31T11:00:00.000Z",
  });
  expect(apiFilter({ find: "x", last: "no span" }, now)).toEqual({ find: "x" });
});

test("an event's link carries whatever its id is made of", () => {
  const link = eventLink({ source: "shop", event_id: "a/b?c=d&e|%2F", generation: 2 });
  const query = new URLSearchParams(link.split("?").slice(1).join("?"));
  expect(query.get("id")).toBe("a/b?c=d&e|%2F");
  expect(query.get("generation")).toBe("2");
  expect(eventLink({ source: "shop", event_id: "x" })).toBe("/event?source=shop&id=x");
});

test("what a link narrows by is in the words of the search", () => {
  const link = writeFilter({ source: "shop", type: "order.paid", since: "2026-01-31T12:00:00Z" });
  expect(readFilter(new URLSearchParams(link))).toEqual({
    source: "shop",
    find: 'type:order.paid since:"2026-01-31T12:00:00Z"',
  });
  expect(readFilter(new URLSearchParams("q=evt_1&find=a"))).toEqual({ find: "a evt_1" });
  expect(searchTerm("customer", 'Ada "L."')).toBe('customer:"Ada \\"L.\\""');
});

test("a search is shown term by term", () => {
  const terms = ["since:7d", 'customer:"Ada \\" L."', '"two words"', "evt_1", 'open:"quote'];
  expect(termsOf(terms.join("  "))).toEqual(terms);
  expect(termsOf(undefined)).toEqual([]);
});
