import { Router } from "express";
import { createDocument } from "../openapi/document.ts";
import { refuseOtherMethods } from "./refuse-methods.ts";

/** `GET /openapi.json`: what the API takes and answers, for machines. It holds no data. */
export function createDocumentRoute(): Router {
  const document = createDocument();
  const router = Router();
  router.get("/openapi.json", (_request, response) => {
    response.json(document);
  });
  refuseOtherMethods(router);
  return router;
}
