import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Answer } from "./dashboard-fixture.ts";

export type AnswerCheck = ReturnType<typeof checkAnswers>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: object;
}
interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface ResponseObject {
  readonly content?: { readonly "application/json"?: { readonly schema: object } };
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

export function checkAnswers(document: Document) {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
  ajv.addFormat("date-time", ISO);
  ajv.addKeyword("components");
  const { components } = document;
  const routes = Object.entries(document.paths).map(([template, of]) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
    of,
  }));
  const seen = new Set<string>();
  const validators = new Map<string, ValidateFunction>();
  return {
    seen,
    documented: routes.flatMap(({ template, of }) =>
      Object.entries(of).flatMap(([method, { responses }]) =>
        Object.keys(responses).map((status) => `${method} ${template} ${status}`),
      ),
    ),
    problemOf: (method: string, path: string, answer: Answer) => {
      const bare = path.replace(/\?.*$/, "");
      const route = routes.find(({ pattern }) => pattern.test(bare));
      const name = `${method.toLowerCase()} ${route?.template} ${answer.status}`;
      const response = route?.of[method.toLowerCase()]?.responses[answer.status];
      if (route === undefined || response === undefined) return `${name} is not documented`;
      seen.add(name);
      if (response.content === undefined) return answer.text === "" ? undefined : "has a body";
      const { schema } = response.content["application/json"] ?? {};
      if (schema === undefined) return answer.json === undefined ? undefined : "is JSON";
      const validate = validators.get(name) ?? ajv.compile({ ...schema, components });
      validators.set(name, validate);
      if (validate(answer.json)) return undefined;
      return `${name}: ${ajv.errorsText(validate.errors)} in ${answer.text.slice(0, 500)}`;
    },
  };
}
