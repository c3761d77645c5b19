export {
  createTestEnvironment,
  deliver,
  type DeliverOnceOptions,
  type TestEnvironmentOptions,
} from "./main.ts";
export type { DeliverOptions, Delivered, DeliveredEvent, RecordedStep } from "./delivered.ts";
export type { Payload } from "./compose-body.ts";
export type { TestEnvironment } from "./open-test-environment.ts";
