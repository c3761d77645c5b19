import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import type { Line, LineTests } from "./lines.ts";
import { BODY_CANARY, github, plain, standard, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";
import { withHeader } from "./wire.ts";

const LIMIT = 65_536;
const json = (id: string) => stripeBody(id);

const KEPT: readonly (readonly [Line, string, string, string])[] = [
  [32, "a NUL and half a surrogate pair", "escapes_1", '"x":"\\u0000 \\ud800"'],
  [35, "40,000 nested lists", "nested_1", `"x":${"[".repeat(40_000)}${"]".repeat(40_000)}`],
  [36, "names of Object.prototype", "proto_1", '"__proto__":{"id":"x"},"toString":1'],
  [36, "a doubled key", "double_1", '"id":"first","id":"double_1"'],
  [36, "numbers beyond a double", "numbers_1", `"x":1e400,"y":${"9".repeat(30)}`],
  [37, "100,000 keys", "keys_1", Array.from({ length: 100_000 }, (_, key) => `"${key}":0`).join()],
  [
    ...([38, "a megabyte of colours and line ends", "colours_1"] as const),
    `"x":${JSON.stringify(`\u001b[31m${BODY_CANARY}\n`.repeat(35_000))}`,
  ],
];

export function bodies(tests: LineTests, target: () => Target): void {
  tests.proves(21, "an empty body is answered 400", async () => {
    for (const request of [github("empty_1", ""), stripe(""), plain("a", "")]) {
      expect(await target().refusal(request)).toBe("400 invalid_body");
    }
    const bare = { ...github("empty_1", ""), hasLength: false };
    expect(await target().refusal(bare)).toBe("400 invalid_body");
  });

  for (const [line, title, type] of [
    [22, "no content type", undefined],
    [23, "text", "text/plain"],
    [23, "a form", "application/x-www-form-urlencoded"],
    [23, "multipart", "multipart/form-data; boundary=x"],
    [24, "another charset", "application/json; charset=utf-16"],
    [24, "a charset that nobody knows", "application/json; charset=shift_jis"],
  ] as const) {
    tests.proves(line, `JSON that comes as ${title} is kept as it came`, async () => {
      const id = `typed_${title.replaceAll(" ", "_")}`;
      const good = stripe(json(id));
      const state = await target().take(
        type === undefined ? good : withHeader(good, "content-type", type),
        id,
      );
      expect(state.status).toBe("completed");
    });
  }
  tests.proves(24, "a body in UTF-16 is no JSON where the id is in it", async () => {
    const request = plain("a", Buffer.from('{"id":"utf16_1"}', "utf16le"));
    expect(await target().refusal(request)).toBe("400 invalid_body");
  });

  const text = Buffer.from(json("packed_1"));
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  tests.proves(25, "a bomb of gzip, and gzip that is cut, are answered 415", async () => {
    for (const body of [bomb, gzipSync(text).subarray(0, 20)]) {
      const request = withHeader(github("packed_1", body), "content-encoding", "GZIP");
      expect(await target().refusal(request)).toBe("415 unsupported_encoding");
    }
  });
  tests.proves(25, "a transfer that is compressed is answered 415", async () => {
    const packed = gzipSync(text);
    const size = `${packed.length.toString(16)}\r\n`;
    const body = Buffer.concat([Buffer.from(size), packed, Buffer.from("\r\n0\r\n\r\n")]);
    const signed = { ...github("packed_2", packed), body, hasLength: false };
    const request = withHeader(signed, "transfer-encoding", "gzip, chunked");
    expect(await target().refusal(request)).toBe("415 unsupported_encoding");
  });
  tests.proves(26, "content-encoding identity is accepted", async () => {
    const good = stripe(json("identity_1"));
    await target().take(withHeader(good, "content-encoding", "identity"), "identity_1");
  });

  tests.proves(27, "the limit is taken, and not a byte more", async () => {
    const ofBytes = (bytes: number) => '{"type":"test.effect","x":"'.padEnd(bytes - 2, "x") + '"}';
    for (const bytes of [LIMIT - 1, LIMIT]) {
      await target().take(standard(`limit_${bytes}`, ofBytes(bytes)), `limit_${bytes}`);
    }
    const refusal = await target().refusal(standard("limit_over", ofBytes(LIMIT + 1)));
    expect(refusal).toBe("413 body_too_large");
  });

  tests.proves(31, "bytes that are no UTF-8 are stored byte for byte", async () => {
    const strange = Buffer.of(0x22, 0xff, 0xfe, 0x00, 0xed, 0xa0, 0x80, 0x22);
    await target().take(github("bytes_1", strange), "bytes_1");
    const inJson = Buffer.from(
      '{"id":"bytes_2","type":"test.effect","x":"\u00ff\u00fe"}',
      "latin1",
    );
    await target().take(plain("a", inJson), "bytes_2");
    expect(await target().effectsOf("a", "bytes_2")).toBe(1);
  });

  for (const [line, title, id, members] of KEPT) {
    tests.proves(line, `a body with ${title} is kept byte for byte, and handled`, async () => {
      await target().take(stripe(`{"id":"${id}","type":"test.effect",${members}}`), id);
      expect(await target().effectsOf("stripe", id)).toBe(1);
    });
  }

  odd(tests, target);
}

function odd(tests: LineTests, target: () => Target): void {
  for (const [line, body, answer] of [
    [33, "null", "400 invalid_event_id"],
    [34, "\0", "400 invalid_body"],
  ] as const) {
    tests.proves(line, `${JSON.stringify(body)} is kept where no id is in it`, async () => {
      expect(await target().refusal(stripe(body))).toBe(answer);
      await target().take(github(`odd_${line}`, body), `odd_${line}`);
    });
  }
  tests.proves(39, "of an id in header and body the one counts that is named", async () => {
    const body = '{"id":"in_body_1","event_id":"in_body_1","type":"test.effect"}';
    await target().take(standard("in_header_1", body), "in_header_1");
    await target().take(standard("in_header_1", body, { source: "hookmesh" }), "in_body_1");
    const plainly = withHeader(plain("a", body), "id", "in_header_1");
    await target().take(plainly, "in_body_1");
  });
}
