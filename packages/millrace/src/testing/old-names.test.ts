import { expect, expectTypeOf, test } from "vitest";
import {
  createStage,
  createTestEnvironment,
  type DeliveredEvent,
  type Stage,
  type StagedEvent,
  type StageOptions,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from "./index.ts";

test("the old names of the test environment are the same function and types", () => {
  expect(createStage).toBe(createTestEnvironment);
  expectTypeOf<Stage>().toEqualTypeOf<TestEnvironment>();
  expectTypeOf<StageOptions>().toEqualTypeOf<TestEnvironmentOptions>();
  expectTypeOf<StagedEvent>().toEqualTypeOf<DeliveredEvent>();
});
