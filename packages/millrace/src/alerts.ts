import type { Alert, AlertChannel } from "@millrace/core";

const SEND_MS = 10_000;

interface UrlOptions {
  /** The address that alerts are posted to. Default: the environment's variable. */
  readonly url?: string | undefined;
}

/** Posts alerts to a Slack channel by an incoming webhook, from `SLACK_WEBHOOK_URL`. */
function slack({ url }: UrlOptions = {}): AlertChannel {
  return {
    name: "slack",
    target: url,
    variable: "SLACK_WEBHOOK_URL",
    send: async (alert, { target, signal }) => {
      const link = alert.url === undefined ? [] : [`<${alert.url}|Open in Millrace>`];
      const lines = [`*${escaped(alert.title)}*`, ...alert.details.map(escaped), ...link];
      await post("Slack", target, { text: lines.join("\n") }, signal);
    },
  };
}

/** @see https://docs.slack.dev/messaging/formatting-message-text#escaping */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Posts each alert as JSON (`kind`, `key`, `title`, `details`, `url`) to `ALERT_WEBHOOK_URL`. */
function webhook({ url }: UrlOptions = {}): AlertChannel {
  return {
    name: "webhook",
    target: url,
    variable: "ALERT_WEBHOOK_URL",
    send: (alert, { target, signal }) => post("The webhook", target, alert, signal),
  };
}

const PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue";

/** Opens an incident at PagerDuty by an Events API v2 key, from `PAGERDUTY_ROUTING_KEY`. */
function pagerduty({
  routingKey,
  url = PAGERDUTY_URL,
}: {
  /** Default: the environment's variable. */
  readonly routingKey?: string | undefined;
  /** Another region's address of the Events API. */
  readonly url?: string | undefined;
} = {}): AlertChannel {
  return {
    name: "pagerduty",
    target: routingKey,
    variable: "PAGERDUTY_ROUTING_KEY",
    send: (alert, { target, signal }) => post("PagerDuty", url, incident(alert, target), signal),
  };
}

const SUMMARY_CHARS_MAX = 1_024;

/** @see https://developer.pagerduty.com/docs/send-alert-event */
function incident({ kind, key, title, details, url }: Alert, routingKey: string): object {
  return {
    routing_key: routingKey,
    event_action: "trigger",
    dedup_key: `${kind} ${key}`.slice(0, 255),
    payload: {
      summary: title.slice(0, SUMMARY_CHARS_MAX),
      source: "millrace",
      severity: kind === "run.ended" ? "info" : "error",
      custom_details: { details },
    },
    ...(url === undefined ? {} : { links: [{ href: url, text: "Open in Millrace" }] }),
  };
}

interface EmailOptions {
  /** One address, or several with commas. */
  readonly to: string;
  /** Default: `to`. */
  readonly from?: string | undefined;
  /** `smtps://user:password@host:465`. Default: the environment's variable. */
  readonly smtpUrl?: string | undefined;
}

/** Sends each alert as an email in plain text, by the server in `ALERT_SMTP_URL`. */
function email({ to, from = to, smtpUrl }: EmailOptions): AlertChannel {
  return {
    name: "email",
    target: smtpUrl,
    variable: "ALERT_SMTP_URL",
    send: async ({ title, details, url }, { target }) => {
      const { createTransport } = await import("nodemailer");
      const times = {
        connectionTimeout: SEND_MS,
        greetingTimeout: SEND_MS,
        socketTimeout: SEND_MS,
      };
      const transport = createTransport({ url: target, ...times });
      try {
        const text = [title, ...details, ...(url === undefined ? [] : [url])].join("\n\n");
        await transport.sendMail({ from, to, subject: title.slice(0, 200), text });
      } finally {
        transport.close();
      }
    },
  };
}

async function post(who: string, url: string, body: object, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]),
  });
  const answer = await response.text();
  if (response.ok) return;
  throw new Error(`${who} refused the alert with ${response.status}: ${answer.slice(0, 200)}`);
}

/** Channels for `alerts` of the config: `alerts: [alertTo.slack(), alertTo.pagerduty()]`. */
export const alertTo = { slack, webhook, email, pagerduty };
