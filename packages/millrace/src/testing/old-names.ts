import type { DeliveredEvent } from "./delivered.ts";
import { createTestEnvironment, type TestEnvironmentOptions } from "./main.ts";
import type { TestEnvironment } from "./open-test-environment.ts";

/** @deprecated Use `createTestEnvironment`. */
export const createStage = createTestEnvironment;

/** @deprecated Use `TestEnvironment`. */
export type Stage = TestEnvironment;

/** @deprecated Use `TestEnvironmentOptions`. */
export type StageOptions = TestEnvironmentOptions;

/** @deprecated Use `DeliveredEvent`. */
export type StagedEvent = DeliveredEvent;
