import { wordsOf } from "./words-of.ts";

/** The event types of Paddle's Node SDK, which a test compares. */
export const PADDLE_TYPES = wordsOf(`
  address.{created,imported,updated} adjustment.{created,updated}
  api_key.{created,expired,expiring,revoked,updated} api_key_exposure.created
  business.{created,imported,updated} client_token.{created,revoked,updated}
  customer.{created,imported,updated} discount.{created,imported,updated}
  discount_group.{created,updated} payment_method.{deleted,saved} payout.{created,paid}
  price.{created,imported,updated} product.{created,imported,updated} report.{created,updated}
  subscription.{activated,canceled,created,imported,past_due,paused,resumed,trialing,updated}
  transaction.{billed,canceled,completed,created,paid,past_due,payment_failed,ready,revised}
  transaction.updated
`);
