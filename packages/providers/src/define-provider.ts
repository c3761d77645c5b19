import type { Answer, Delivery, Identification, Provider, SignRequest } from "@millrace/core";
import type { Samples } from "./samples/define-samples.ts";
import type { Scheme } from "./signature/signature-scheme.ts";

export interface ProviderParts<DataField extends string> {
  readonly name: string;
  readonly scheme: Scheme;
  readonly identify: (delivery: Delivery) => Identification;
  readonly idIsSigned: boolean;
  readonly samples: Samples;
  readonly generateSecret: () => string;
  /** Event types, where the sender documents all of them. */
  readonly types?: readonly string[];
  /** Where the payload wraps the event's own data. */
  readonly dataField?: DataField;
  readonly keptHeaders?: readonly string[];
  /** Headers other than the signature's that name an event: GitHub's delivery id and event. */
  readonly identityHeaders?: (request: SignRequest) => Record<string, string>;
  readonly bodyBytesMax?: number;
  readonly repeatsDays?: number;
  readonly secretPrefix?: string;
  readonly methods?: readonly string[];
  readonly answers?: { readonly accepted?: Answer; readonly duplicate?: Answer };
}

/** Of senders that document none. An answer of 413 would lose the event. */
const BODY_BYTES_MAX = 25 * 1024 * 1024;

export function defineProvider<DataField extends string = never>(
  parts: ProviderParts<DataField>,
): Provider<DataField> {
  return {
    name: parts.name,
    methods: parts.methods ?? ["POST"],
    bodyBytesMax: parts.bodyBytesMax ?? BODY_BYTES_MAX,
    keptHeaders: parts.keptHeaders ?? [],
    idIsSigned: parts.idIsSigned,
    ...(parts.repeatsDays !== undefined && { repeatsDays: parts.repeatsDays }),
    ...(parts.secretPrefix !== undefined && { secretPrefix: parts.secretPrefix }),
    ...(parts.types !== undefined && { types: parts.types }),
    ...(parts.dataField !== undefined && { dataField: parts.dataField }),
    ...(parts.answers !== undefined && { answers: parts.answers }),
    createVerifier: parts.scheme.createVerifier,
    identify: parts.identify,
    generateSecret: parts.generateSecret,
    sampleTypes: parts.samples.sampleTypes,
    sample: parts.samples.sample,
    sign: (request) => ({
      "content-type": "application/json",
      ...parts.identityHeaders?.(request),
      ...parts.scheme.sign(request),
    }),
  };
}
