/**
 * Service: what every Millrace process has in common.
 * A role's `main.ts` goes through it in this order: load the config and its handlers, resolve the
 * secrets, create the logger, wait for servers (`retryUntilAvailable`), listen, and shut down on a
 * signal (`onTermination`). While it runs, `createStatusApp` serves health, readiness, and metrics.
 * It owns the retry of the startup, and makes spans where the process has an SDK of OpenTelemetry
 * (`openTracing`). State: the buffer of the logger, and the error log's counters.
 */
export { createErrorLog, logUnhandledRejections, reasonOf, type ErrorLog } from "./error-log.ts";
export { closeServer, listen } from "./http-server.ts";
export { loadConfig, projectDirOf, type LoadedConfig } from "./load-config.ts";
export { loadHandlers } from "./load-handlers.ts";
export { createLogger, type Logger } from "./logger.ts";
export { createRegistry, metricsOf } from "./metrics.ts";
export { notifyParent, onTermination } from "./process-signals.ts";
export { refuseExampleSecrets } from "./refuse-example-secrets.ts";
export { resolveSecrets, secretsToHide } from "./resolve-secrets.ts";
export { retryUntilAvailable } from "./retry-until-available.ts";
export * from "./status-app.ts";
export { openTracing } from "./tracing.ts";
