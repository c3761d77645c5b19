import {
  createDocument,
  OPERATIONS as CONTRACT,
  splitName,
  type Operation,
} from "@millrace/api-contract";
import type { Router } from "express";
import { expect, test } from "vitest";
import type { Authenticator } from "../security/authenticator.ts";
import { createApi, createOpenRoutes } from "./create-api.ts";

const OPERATIONS = Object.entries<Operation>(CONTRACT).map(([name, operation]) => ({
  ...operation,
  ...splitName(name),
}));

// A router is made of its parts, and asks them nothing before a request comes.
const nothing = {} as Parameters<typeof createApi>[0];
const open = [createOpenRoutes({} as Authenticator)];
const all = [...open, createApi(nothing)];

/** `get /events`, and the methods of each path, as the routers have them. */
function routesOf(routers: readonly Router[]): string[] {
  return routers.flatMap(({ stack }) =>
    stack.flatMap(({ route }) => {
      const methods = (route?.stack ?? []).flatMap(({ method }) => method ?? []);
      return [...new Set(methods)].map((method) => `${method} ${route?.path}`);
    }),
  );
}

test("every route of the API stands in the document, and the other way round", () => {
  const documented = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(documented).size).toBe(documented.length);
  expect(routesOf(all).toSorted()).toEqual(documented.toSorted());
});

test("what anyone may ask is what stands before the guard", () => {
  const anyone = OPERATIONS.filter(({ who }) => who === "anyone");
  expect(anyone.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    routesOf(open).toSorted(),
  );
  for (const { method, who } of OPERATIONS) {
    if (who !== "anyone") expect(who).toBe(method === "get" ? "viewer" : "operator");
  }
});

test("one name has one schema, each operation one id, and nothing points nowhere", () => {
  const document = createDocument() as unknown as {
    paths: Record<string, Record<string, { operationId: string }>>;
    components: { schemas: Record<string, unknown> };
  };
  const byName = new Map<string, unknown>();
  for (const { answer } of OPERATIONS) {
    if (answer === undefined) continue;
    const [name, schema] = answer;
    expect(byName.get(name) ?? schema).toBe(schema);
    byName.set(name, schema);
  }
  const ids = Object.values(document.paths).flatMap((of) =>
    Object.values(of).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(OPERATIONS.length);
  const refs = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
  for (const [, name = ""] of refs) expect(document.components.schemas).toHaveProperty(name);
});
