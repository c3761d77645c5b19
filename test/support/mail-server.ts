import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

export async function startMailServer() {
  const taken: { to: string; messageId: string | undefined }[] = [];
  const onData: SMTPServerOptions["onData"] = (stream, { envelope }, done) => {
    let text = "";
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => {
      const [, messageId] = /^Message-ID:\s*(<\S+>)/im.exec(text) ?? [];
      taken.push({ to: envelope.rcptTo.map(({ address }) => address).join(), messageId });
      done();
    });
  };
  // A client that is killed resets its connection.
  const server = new SMTPServer({ disabledCommands: ["AUTH", "STARTTLS"], onData });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
