import type { Provider } from "./provider.ts";
import type { SourceOptions } from "./source-schema.ts";

/** What a provider's function (`stripe()`, `hmac({...})`) returns: a provider and a policy. */
export interface SourceDefinition {
  readonly provider: Provider;
  readonly options: SourceOptions;
}
