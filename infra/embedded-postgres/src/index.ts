export { BINARIES_PACKAGE } from "./find-binaries.ts";
export { lockFolder } from "./lock-folder.ts";
export { answersSignal, hasErrno } from "./process-identity.ts";
export { writePrivateFile } from "./replace-file.ts";
export {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from "./start-embedded-postgres.ts";
