import {
  alertHandlers,
  missingTargets,
  MillraceError,
  unknownKey,
  withUrl,
  type Config,
  type Handler,
  type HandlersModule,
} from "@millrace/core";
import { importError } from "./import-error.ts";

/**
 * Loads a config's handlers and checks them against its sources.
 * @param env - where alerts have their addresses; without it no alert is sent.
 * @throws `handlers_not_loaded`; `invalid_config` with every handler that no event can match, or
 * with every pair that one event must not have
 */
export async function loadHandlers(
  config: Config,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<readonly Handler[]> {
  const { alerts } = config;
  if (env !== undefined) refuse("alerts have no address or key", missingTargets(alerts, env));
  const alerting = env === undefined ? [] : alertHandlers(alerts, env);
  const handlers = [...listOf(await evaluate(config)), ...alerting];
  const known = Object.keys(config.sources);
  const strangers = handlers.flatMap((handler) => {
    const name = handler.sources.find((one) => one !== "*" && !known.includes(one));
    return name === undefined ? [] : [`${nameOf(handler)}: no source ${unknownKey(name, known)}`];
  });
  refuse("no source of their name is configured", strangers);
  const mute = handlers
    .filter(
      ({ sources, types }) => !sources.length || !types.length || /\*./.test(types.join("\n")),
    )
    .map(nameOf);
  refuse("a handler needs a source and a type, and a * stands only at the end of a type", mute);
  const mixed = mixedTypes(handlers, Object.keys(withUrl(config.sources)));
  refuse("an event may have one set-based handler, or ordinary ones", mixed);
  return handlers;
}

function refuse(why: string, handlers: readonly string[]): void {
  if (handlers.length === 0) return;
  const lines = handlers.map((line) => `  ${line}`).join("\n");
  throw new MillraceError("invalid_config", `Cannot use the handlers: ${why}:\n${lines}`);
}

function mixedTypes(handlers: readonly Handler[], named: readonly string[]): string[] {
  const sourcesOf = ({ sources }: Handler) =>
    sources.flatMap((name) => (name === "*" ? named : [name]));
  const meet = (one: Handler, other: Handler) =>
    sourcesOf(one).some((name) => sourcesOf(other).includes(name)) &&
    one.types.some((type) => other.types.some((also) => overlap(type, also)));
  return handlers.flatMap((one, index) =>
    handlers
      .slice(index + 1)
      .filter((other) => (one.set !== undefined || other.set !== undefined) && meet(one, other))
      .map((other) => `${nameOf(one)} and ${nameOf(other)}`),
  );
}

/** True if a type can match both patterns: a `*` at the end stands for any text. */
function overlap(one: string, other: string): boolean {
  const [oneStart, otherStart] = [one, other].map((text) => text.replace(/\*$/, ""));
  if (one.endsWith("*") && other.startsWith(oneStart ?? "")) return true;
  return other.endsWith("*") ? one.startsWith(otherStart ?? "") : one === other;
}

function nameOf({ sources, types }: Handler): string {
  return `on(${textOf(sources)}, ${textOf(types)})`;
}

function textOf(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`).join(", ");
  return names.length === 1 ? quoted : `[${quoted}]`;
}

async function evaluate(config: Config): Promise<HandlersModule> {
  if (typeof config.handlers !== "function") return config.handlers;
  try {
    return await config.handlers();
  } catch (error) {
    throw importError("handlers_not_loaded", "Cannot load the handlers", error);
  }
}

function listOf(module: HandlersModule): readonly Handler[] {
  const list: unknown = "default" in Object(module) ? Reflect.get(module, "default") : module;
  if (Array.isArray(list) && list.every(isHandler)) return list;
  throw new MillraceError(
    "handlers_not_loaded",
    "Cannot load the handlers: the default export is not a list of on(...)",
  );
}

function isHandler(value: unknown): value is Handler {
  const { sources, types, write, call }: Partial<Record<keyof Handler, unknown>> = Object(value);
  return Array.isArray(sources) && Array.isArray(types) && (write ?? call) !== undefined;
}
