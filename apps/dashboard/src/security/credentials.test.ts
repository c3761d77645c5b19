import { expect, test } from "vitest";
import { credentialsOf } from "./credentials.ts";

test("nobody is named where nothing is set", () => {
  expect(credentialsOf({})).toBeUndefined();
  expect(credentialsOf({ DASHBOARD_TOKEN: " , " })).toBeUndefined();
});

test("users and tokens have the role of their variables, and a token has a name or its variable's", () => {
  expect(
    credentialsOf({
      DASHBOARD_USER: "a:b",
      DASHBOARD_PASSWORD: "p,w",
      DASHBOARD_VIEWER_USER: "v",
      DASHBOARD_VIEWER_PASSWORD: "w",
      DASHBOARD_TOKEN: "new, old",
      DASHBOARD_VIEWER_TOKEN: "third",
      DASHBOARD_TOKENS: "ci:fourth, ci:fifth",
      DASHBOARD_VIEWER_TOKENS: "prometheus:with:colon,",
    }),
  ).toEqual({
    accounts: [
      { user: "a:b", password: "p,w", role: "operator" },
      { user: "v", password: "w", role: "viewer" },
    ],
    tokens: [
      { name: "DASHBOARD_TOKEN", token: "new", role: "operator" },
      { name: "DASHBOARD_TOKEN", token: "old", role: "operator" },
      { name: "ci", token: "fourth", role: "operator" },
      { name: "ci", token: "fifth", role: "operator" },
      { name: "DASHBOARD_VIEWER_TOKEN", token: "third", role: "viewer" },
      { name: "prometheus", token: "with:colon", role: "viewer" },
    ],
  });
});

test.each([
  [{ DASHBOARD_USER: "u" }, "DASHBOARD_PASSWORD is not set"],
  [{ DASHBOARD_PASSWORD: "p" }, "DASHBOARD_USER is not set"],
  [{ DASHBOARD_VIEWER_USER: "u" }, "DASHBOARD_VIEWER_PASSWORD is not set"],
  [{ DASHBOARD_VIEWER_TOKEN: "two words" }, "DASHBOARD_VIEWER_TOKEN holds a space"],
  [{ DASHBOARD_TOKEN: "tokén" }, "what is not ASCII"],
  [{ DASHBOARD_TOKENS: "ci:tokén" }, "DASHBOARD_TOKENS holds a space, or what is not ASCII"],
  [{ DASHBOARD_TOKEN: "same", DASHBOARD_VIEWER_TOKEN: "same" }, "one token is given twice"],
  [{ DASHBOARD_TOKEN: "same", DASHBOARD_TOKENS: "ci:same" }, "one token is given twice"],
  [
    { DASHBOARD_USER: "ci", DASHBOARD_PASSWORD: "p", DASHBOARD_TOKENS: "ci:token" },
    "one name is given twice",
  ],
  [
    {
      ...{ DASHBOARD_USER: "u", DASHBOARD_PASSWORD: "p" },
      ...{ DASHBOARD_VIEWER_USER: "u", DASHBOARD_VIEWER_PASSWORD: "q" },
    },
    "one user is given twice",
  ],
])("%j is refused", (environment, message) => {
  expect(() => credentialsOf(environment)).toThrow(message);
});
