export function readResponses(text: string) {
  const all: { status: number; body: string }[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*\r\n/.exec(rest)?.[1];
    if (end === -1 || status === undefined) return all;
    const head = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    if (body.length < length) return all;
    rest = rest.slice(end + 4 + length);
    if (!status.startsWith("1")) all.push({ status: Number(status), body });
  }
}
