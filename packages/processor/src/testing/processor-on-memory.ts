import type { Handler } from "@millrace/core";
import type { AttemptPolicy } from "../context.ts";
import { createProcessor, type Processor, type ProcessorOptions } from "../create-processor.ts";
import type { Notice } from "../notices.ts";
import { createMemoryLedger, type MemoryLedger } from "./memory-ledger.ts";

/** What the memory ledger's faults throw for a Postgres that is away. */
export class DatabaseTrouble extends Error {}

/** A processor on a memory ledger, with backoff at its longest (random gives 1). */
export function processorOnMemory(
  handlers: readonly Handler[],
  options: Partial<ProcessorOptions> & { policy?: Partial<AttemptPolicy> } = {},
): { processor: Processor; ledger: MemoryLedger; notices: Notice[] } {
  const { policy, ...rest } = options;
  const ledger = createMemoryLedger();
  const notices: Notice[] = [];
  const backoff = { firstMs: 2_000, factor: 3, maxMs: 3_600_000 };
  const shop = { attempts: 3, backoff, bodyDedup: true, ...policy };
  const processor = createProcessor(
    {
      ledger,
      handlers,
      sources: { shop, bank: shop },
      isDatabaseTrouble: (error) => error instanceof DatabaseTrouble,
      notify: (notice) => notices.push(notice),
      random: () => 1,
    },
    { concurrency: 10, handlerTimeoutMs: 5_000, patienceMs: 300, ...rest },
  );
  return { processor, ledger, notices };
}
