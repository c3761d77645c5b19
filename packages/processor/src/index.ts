export { checkJob, type JobRefusal } from "./check-job.ts";
export {
  createProcessor,
  type Processor,
  type ProcessorDeps,
  type ProcessorOptions,
} from "./create-processor.ts";
export { describeError } from "./describe-error.ts";
export type { Notice } from "./notices.ts";
export type * from "./ports.ts";
