import type { HandlerContext, HandlerTransaction, LazySignal } from "@millrace/core";
import type { EmitTarget } from "@millrace/ledger";
import { createEmit, emitNothing, type EmitParent, type InternalSources } from "./emit.ts";
import type { AttemptLog } from "./handler-log.ts";

/** What handlers get. Their signal, `emit`, and log are made when they ask for them; a set has no parent to emit from. */
export function createHandlerContext(
  tx: HandlerTransaction,
  signal: LazySignal,
  {
    parent,
    target,
    sources,
    log,
  }: {
    readonly parent: EmitParent | undefined;
    readonly target: EmitTarget;
    readonly sources: InternalSources;
    readonly log: AttemptLog;
  },
): HandlerContext {
  return {
    tx,
    get signal() {
      return signal.signal;
    },
    get emit() {
      return parent === undefined ? emitNothing : createEmit(parent, target, sources);
    },
    get log() {
      return log.lines;
    },
  };
}

/** The context of a set-based handler that gets one event alone: as when it gets several. */
export function withoutEmit(context: HandlerContext): HandlerContext {
  return {
    tx: context.tx,
    get signal() {
      return context.signal;
    },
    emit: emitNothing,
    get log() {
      return context.log;
    },
  };
}
