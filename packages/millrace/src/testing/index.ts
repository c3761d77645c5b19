export { createStage, deliver, type DeliverOnceOptions } from "./main.ts";
export type { DeliverOptions, Delivered, StagedEvent } from "./delivered.ts";
export type { Payload } from "./compose-body.ts";
export type { Stage } from "./open-stage.ts";
export type { StageOptions } from "./stage-options.ts";
