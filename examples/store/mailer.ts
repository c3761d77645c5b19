import { createHash } from "node:crypto";
import { PermanentError, RetryLater, type HandlerLog } from "millrace";

/** A mail, as the events of the source `mail` carry it. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** A mail server must not keep a call waiting: the attempt after it is another chance. */
const TIMEOUTS = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };

/**
 * Sends a mail by the server of `SMTP_URL`, such as smtp://localhost:1025, and returns its Message-ID. Without one the mail
 * is written to the log, so that the store runs on a machine that has no mail server.
 *
 * @param key - what the Message-ID is made of: a mail that is sent a second time has the same.
 */
export async function sendMail(mail: Mail, key: string, log: HandlerLog): Promise<string> {
  // A key may have characters that a Message-ID must not.
  const messageId = `<${createHash("sha256").update(key).digest("hex")}@store.example>`;
  const url = process.env["SMTP_URL"];
  if (url === undefined || url === "") {
    log.info({ ...mail, messageId }, "no SMTP_URL is set: this mail is not sent");
    return messageId;
  }
  // Here, so that nodemailer need be installed only where mail is sent.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({ url, ...TIMEOUTS });
  try {
    await transport.sendMail({ from: "store@store.example", ...mail, messageId });
    return messageId;
  } catch (error) {
    throw toRetry(error);
  } finally {
    transport.close();
  }
}

/** A mail that the server refuses for good (5xx) it refuses again. A server that is away or busy is asked again in a minute. */
function toRetry(cause: unknown): Error {
  const { code, responseCode, message } = cause as SmtpError;
  const isOfMail = code === "EENVELOPE" || code === "EMESSAGE";
  if (isOfMail && responseCode !== undefined && responseCode >= 500) {
    return new PermanentError(`The mail server refuses the mail: ${responseCode}`, { cause });
  }
  const reason = `The mail server does not take the mail: ${responseCode ?? message}`;
  return new RetryLater({ afterMs: 60_000, reason, cause });
}

/** What nodemailer throws. */
interface SmtpError extends Error {
  code?: string;
  responseCode?: number;
}
