import { expect, test } from "vitest";
import { OPERATIONS } from "./operations.ts";
import { readRequest } from "./requests.ts";

const parseEventQuery = (query: unknown) => readRequest(OPERATIONS["get /events"].query, query);

test("an empty query asks for fifty events of any kind", () => {
  expect(parseEventQuery({})).toEqual({ limit: 50 });
});

test("times come out as instants, whatever their offset", () => {
  expect(parseEventQuery({ since: "2026-01-31T13:00:00+01:00" }).since).toEqual(
    new Date("2026-01-31T12:00:00Z"),
  );
});

test("every problem is told at once, with its parameter", () => {
  const query = { status: "lost", limit: "0", until: "yesterday", q: ["a", "b"], colour: "red" };
  const thrown = catchError(() => parseEventQuery(query));
  expect(thrown).toMatchObject({ code: "invalid_request" });
  for (const parameter of ["status", "limit", "until", "q", "colour"]) {
    expect(String(thrown)).toContain(parameter);
  }
});

test.each([{ q: "a\0b" }, { type: "" }, { limit: "201" }, { limit: "1e2" }, { limit: "-1" }])(
  "%j is refused",
  (query) => {
    expect(catchError(() => parseEventQuery(query))).toMatchObject({ code: "invalid_request" });
  },
);

function catchError(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
