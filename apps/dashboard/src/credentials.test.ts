import { expect, test } from "vitest";
import { credentialsOf } from "./credentials.ts";

test("user and password go together, or neither is set", () => {
  expect(credentialsOf({})).toBeUndefined();
  expect(credentialsOf({ DASHBOARD_USER: "u", DASHBOARD_PASSWORD: "p:w" })).toEqual({
    user: "u",
    password: "p:w",
  });
});

test.each([
  [{ DASHBOARD_USER: "u" }, "DASHBOARD_PASSWORD is not set"],
  [{ DASHBOARD_PASSWORD: "p" }, "DASHBOARD_USER is not set"],
  [{ DASHBOARD_USER: "a:b", DASHBOARD_PASSWORD: "p" }, "holds a colon"],
])("%j is refused", (environment, message) => {
  expect(() => credentialsOf(environment)).toThrow(message);
});
