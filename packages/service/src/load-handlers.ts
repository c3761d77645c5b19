import { MillraceError, type Config, type Handler, type HandlersModule } from "@millrace/core";
import { reasonOf } from "./error-log.ts";

/**
 * Loads a config's handlers and checks them against its sources.
 *
 * @throws `handlers_not_loaded` when their import fails or gives no list; `invalid_config` with
 * every handler whose source is not configured, or with every pair that one event must not have.
 */
export async function loadHandlers(config: Config): Promise<readonly Handler[]> {
  const handlers = listOf(await evaluate(config));
  const strangers = handlers.filter((handler) => !Object.hasOwn(config.sources, handler.source));
  if (strangers.length > 0) {
    const lines = strangers.map((handler) => `  ${nameOf(handler)}`);
    throw new MillraceError(
      "invalid_config",
      `Cannot use the handlers: no source of their name is configured:\n${lines.join("\n")}`,
    );
  }
  const mixed = mixedTypes(handlers);
  if (mixed.length > 0) {
    throw new MillraceError(
      "invalid_config",
      `Cannot use the handlers: an event may have one set-based handler, or ordinary ones:\n${mixed.join("\n")}`,
    );
  }
  return handlers;
}

/** Pairs of handlers of which at least one is set-based, and that the same event would go to. */
function mixedTypes(handlers: readonly Handler[]): string[] {
  const meet = (one: Handler, other: Handler) =>
    one.source === other.source &&
    one.types.some(
      (type) => type === "*" || other.types.some((also) => also === type || also === "*"),
    );
  return handlers.flatMap((one, index) =>
    handlers
      .slice(index + 1)
      .filter((other) => (one.set !== undefined || other.set !== undefined) && meet(one, other))
      .map((other) => `  ${nameOf(one)} and ${nameOf(other)}`),
  );
}

function nameOf({ source, types }: Handler): string {
  return `on("${source}", "${types.join('", "')}")`;
}

async function evaluate(config: Config): Promise<HandlersModule> {
  if (typeof config.handlers !== "function") return config.handlers;
  try {
    return await config.handlers();
  } catch (error) {
    throw new MillraceError("handlers_not_loaded", `Cannot load the handlers: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function listOf(module: HandlersModule): readonly Handler[] {
  const list: unknown = "default" in module ? module.default : module;
  if (Array.isArray(list) && list.every(isHandler)) return list;
  throw new MillraceError(
    "handlers_not_loaded",
    "Cannot load the handlers: the default export is not a list of on(...)",
  );
}

function isHandler(value: unknown): value is Handler {
  return (
    typeof value === "object" &&
    value !== null &&
    "run" in value &&
    typeof value.run === "function" &&
    "types" in value &&
    Array.isArray(value.types) &&
    "source" in value &&
    typeof value.source === "string"
  );
}
