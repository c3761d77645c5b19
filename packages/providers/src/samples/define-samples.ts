import type { SampleRequest } from "@millrace/core";

export type { SampleRequest };

export interface Samples {
  readonly sampleTypes: readonly string[];
  sample(request: SampleRequest): string;
}

/** `other` serves every further type; `write` makes text where the sender writes no JSON. */
export function defineSamples<Value = unknown>(
  byType: Readonly<Record<string, (request: SampleRequest) => Value>>,
  other: (request: SampleRequest) => Value,
  write: (value: Value) => string = JSON.stringify,
): Samples {
  return {
    sampleTypes: Object.keys(byType),
    sample: (request) => {
      const make = Object.hasOwn(byType, request.type) ? byType[request.type] : undefined;
      return write((make ?? other)(request));
    },
  };
}

/** Hexadecimal digits that follow from an event's id (FNV-1a): the same id, the same sample. */
export function digitsOf(eventId: string, salt: string, length: number): string {
  let digits = "";
  for (let block = 0; digits.length < length; block += 1) {
    let hash = 0x811c9dc5;
    for (const character of `${salt}/${block}/${eventId}`) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    }
    digits += hash.toString(16).padStart(8, "0");
  }
  return digits.slice(0, length);
}

/** An amount in the smallest unit that follows from an event's id: 100 to 100,099. */
export function amountOf(eventId: string): number {
  return 100 + (Number.parseInt(digitsOf(eventId, "amount", 8), 16) % 100_000);
}
