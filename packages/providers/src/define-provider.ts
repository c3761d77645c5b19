import {
  MillraceError,
  plainWords,
  sourceOptionsSchema,
  type DeliveryHead,
  type Provider,
  type Refusal,
  type SignRequest,
  type Sent,
  type SourceOf,
  type SourceOptions,
  type Verification,
  type Verifier,
  type VerifierOptions,
} from "@millrace/core";
import { z } from "zod";
import { createAnswer, type AnswerParts } from "./answers.ts";
import { createIdentify, type IdentityParts } from "./identity/identify.ts";
import {
  placesOf,
  readDelivery,
  type DeliveryReader,
  type Location,
} from "./identity/locations.ts";
import { createSamples, locatedHeaders } from "./samples/create-samples.ts";
import { behindKey, firstPresent, type Prove, type Scheme } from "./signature/signature.ts";
import { splitKey } from "./signature/prepare-secrets.ts";
import { badSignature } from "./signature/signed-message.ts";
import type { UrlOptions } from "./signature/signed-url.ts";
import { functionScheme, type VerifyFunction } from "./signature/verify-function.ts";

/**
 * Answers a handshake; undefined for a delivery with events, and for a challenge to refuse. `keys`
 * are those in front of the live secrets (`secretHasKey`).
 */
export type AnswerChallenge = (
  request: DeliveryReader,
  prove: Prove,
  keys: readonly string[],
) => AnswerParts | Refusal | undefined;

type PolicyParts = "attemptFields" | "bodyBytesMax" | "inflate" | "keptHeaders" | "repeatsDays";
type NameParts = "authenticatedOnly" | "dataField" | "idPrefix" | "secretPrefix";

/** A kind of sender: how it signs, names, and types its events. */
export interface ProviderParts<Type extends string = never, DataField extends string = never>
  extends Partial<Pick<Provider<DataField>, PolicyParts | NameParts>>, IdentityParts {
  readonly name: string;
  /** `signature({...})`, several of which the first with its header counts, or a function. */
  readonly verify: Scheme | readonly [Scheme, ...Scheme[]] | VerifyFunction;
  /** True when the signature covers the id. Default: false, which costs a digest of each body. */
  readonly idIsSigned?: boolean;
  /** True where a secret is two parts in one text, `key:secret`, of which the second signs. */
  readonly secretHasKey?: true;
  /** The answer to a verified delivery that is no event. */
  readonly handshake?: AnswerChallenge;
  /** The answer to requests that nobody signs. They never carry an event. */
  readonly challenge?: {
    readonly method: "GET" | "HEAD" | "OPTIONS" | "POST";
    readonly answer: AnswerChallenge;
  };
  /** Event types, where the sender documents all of them. */
  readonly types?: readonly Type[];
  /** Realistic bodies. Default: a body with id and type in their locations. */
  readonly samples?: Readonly<Record<string, unknown>>;
  /** Headers of a sample that do not follow from the locations. */
  readonly sampleHeaders?: (request: SignRequest) => Record<string, string>;
  /** Signs samples, where `verify` is a function. */
  readonly sign?: (request: SignRequest) => Record<string, string>;
}

/** A provider's function in a config: `acme({ attempts: 5 })`, with its `Own` options. */
export type SourceFactory<
  Known extends string,
  DataField extends string,
  Own = unknown,
  Within extends string = never,
> = <Of extends Sent = [Known] extends [never] ? string : never>(
  ...[options]: Record<never, never> extends Own
    ? [options?: Own & SourceOptions<Of>]
    : [options: Own & SourceOptions<Of>]
) => SourceOf<Of, DataField, Known, Within>;

/** Of senders that document none. An answer of 413 would lose the event. */
const BODY_BYTES_MAX = 25 * 1024 * 1024;

/**
 * Makes a provider's function. Every provider of Millrace is made with it.
 *
 * @throws `invalid_config` for parts that do not go together.
 */
export function defineProvider<const Type extends string = never, DataField extends string = never>(
  parts: ProviderParts<Type, DataField>,
): SourceFactory<Type, DataField> {
  const provider = createProvider(parts);
  // Payloads are for the compiler alone.
  return ((options = {}) => ({ provider, options })) as SourceFactory<Type, DataField>;
}

export type OptionParts<DataField extends string> = Omit<ProviderParts<never, DataField>, "name">;

/**
 * The same for a sender whose sources have options of its own. Wrong ones never throw: the config
 * is refused with every problem at once.
 */
export function defineProviderWith<Own extends object, DataField extends string = never>(
  name: string,
  schema: z.ZodType<Own>,
  partsOf: (own: Own) => OptionParts<DataField>,
): SourceFactory<never, DataField, Own> {
  return (...[options]) => {
    const policy: Record<string, unknown> = {};
    const own: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(options ?? {})) {
      (key in sourceOptionsSchema.shape ? policy : own)[key] = value;
    }
    const { data, error } = schema.safeParse(own, { error: plainWords });
    const provider = createProvider({ name, ...(data ? partsOf(data) : REFUSED) });
    return {
      provider: error ? { ...provider, problems: error.issues } : provider,
      options: policy,
    };
  };
}

/** The same for a sender that signs the URL that it calls, which may follow from `publicUrl`. */
export function defineProviderAt<DataField extends string = never>(
  name: string,
  url: z.ZodType<string>,
  partsOf: (own: { readonly url: string }) => OptionParts<DataField>,
): SourceFactory<never, DataField, UrlOptions> {
  const define = defineProviderWith(name, z.strictObject({ url }), partsOf);
  const factory = (options?: UrlOptions & SourceOptions) => {
    const source = Reflect.apply(define, undefined, [options]);
    if (options?.url !== undefined) return source;
    const at = (registered: string) => define({ url: registered }).provider;
    return { ...source, provider: { ...source.provider, at } };
  };
  return factory as SourceFactory<never, DataField, UrlOptions>;
}

/** Stands for a provider with wrong options, until the config is refused. */
const REFUSED = { verify: () => false as const, id: "json:id" };

function createProvider<DataField extends string>(
  parts: ProviderParts<string, DataField>,
): Provider<DataField> {
  const { name, verify, id, type, answer, challenge, sampleHeaders, sign } = parts;
  const { idIsSigned = false, secretPrefix = "" } = parts;
  const whole = typeof verify === "function" ? functionScheme(verify, sign) : firstPresent(verify);
  const scheme = parts.secretHasKey ? behindKey(whole) : whole;
  if (idIsSigned && !scheme.coversBody) {
    throw new MillraceError(
      "invalid_config",
      `Cannot define "${name}": idIsSigned needs a signature, and a token covers nothing`,
    );
  }
  const { keptHeaders = ["content-type", ...[id, type].flatMap(headersOf)] } = parts;
  // A sender could claim that its event is an edited one, or emitted by a long chain.
  const own = keptHeaders.find((header) => header.startsWith("millrace-"));
  if (own !== undefined) {
    throw new MillraceError(
      "invalid_config",
      `Cannot define "${name}": it keeps the header "${own}", and only Millrace writes millrace-* ones`,
    );
  }
  return {
    bodyBytesMax: BODY_BYTES_MAX,
    ...parts,
    keptHeaders,
    methods: challenge === undefined ? ["POST"] : [...new Set(["POST", challenge.method])],
    idIsSigned,
    ...(!scheme.coversBody && { authenticatedOnly: true }),
    ...(scheme.needsSecret === false && { needsSecret: false }),
    ...(scheme.signedUrl !== undefined && { signedUrl: scheme.signedUrl }),
    ...(answer !== undefined && typeof answer !== "function" && { answers: answersOf(answer) }),
    createVerifier: (secrets, options) => createVerifier(parts, scheme, secrets, options),
    identify: createIdentify(parts),
    generateSecret() {
      const secret = scheme.generateSecret();
      return secret.startsWith(secretPrefix) ? secret : `${secretPrefix}${secret}`;
    },
    ...createSamples(parts),
    sign: (request) => ({
      "content-type": "application/json",
      ...locatedHeaders(id, request.eventId),
      ...locatedHeaders(type, request.type),
      ...sampleHeaders?.(request),
      ...scheme.sign(request),
    }),
  };
}

function headersOf(location: Location | undefined): readonly string[] {
  return placesOf(location).flatMap((place) => (place.kind === "header" ? [place.name] : []));
}

function answersOf(answer: AnswerParts): NonNullable<Provider["answers"]> {
  const isOwn = answer.body === undefined && answer.status === 200;
  const write = (status: string) => createAnswer(isOwn ? { body: { status } } : answer);
  return { accepted: write("accepted"), duplicate: write("duplicate") };
}

function createVerifier(
  parts: Pick<ProviderParts, "handshake" | "challenge" | "secretHasKey">,
  scheme: Scheme,
  secrets: readonly string[],
  options: VerifierOptions = {},
): Verifier {
  const { handshake, challenge } = parts;
  const keys = parts.secretHasKey ? secrets.map((secret) => splitKey(secret)[0]) : [];
  const verifier = scheme.createVerifier(secrets, {
    ...options,
    ...(handshake && {
      respond: (delivery, prove) => verificationOf(handshake(readDelivery(delivery), prove, keys)),
    }),
  });
  if (challenge === undefined) return verifier;
  const { method } = challenge;
  // A POST with a signature is a delivery. By the other methods nothing is ever delivered.
  const isAsked = (head: DeliveryHead) =>
    head.method === method && (method !== "POST" || !scheme.isPresent(head));
  return {
    verify(delivery) {
      if (!isAsked(delivery)) return verifier.verify(delivery);
      const prove = (text: string) => scheme.prove(secrets, text);
      const answer = challenge.answer(readDelivery(delivery), prove, keys);
      // A POST should have had a signature; by the other methods a token did not match.
      const reason = method === "POST" ? "header_missing" : "no_secret_matches";
      return verificationOf(answer) ?? badSignature(reason, "it is no challenge");
    },
    precheck: (head, readMs) => (isAsked(head) ? undefined : verifier.precheck?.(head, readMs)),
  };
}

function verificationOf(answer: ReturnType<AnswerChallenge>): Verification | undefined {
  if (answer === undefined || "ok" in answer) return answer;
  return { ok: true, handshake: createAnswer(answer) };
}
