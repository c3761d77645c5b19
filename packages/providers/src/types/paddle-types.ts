import { wordsOf } from "./words-of.ts";

/** The event types of Paddle's Node SDK, which a test compares. */
export const PADDLE_TYPES = wordsOf(`
  address.created address.imported address.updated adjustment.created adjustment.updated
  api_key.created api_key.expired api_key.expiring api_key.revoked api_key.updated
  api_key_exposure.created business.created business.imported business.updated
  client_token.created client_token.revoked client_token.updated
  customer.created customer.imported customer.updated discount.created discount.imported
  discount.updated discount_group.created discount_group.updated
  payment_method.deleted payment_method.saved payout.created payout.paid
  price.created price.imported price.updated product.created product.imported product.updated
  report.created report.updated subscription.activated subscription.canceled subscription.created
  subscription.imported subscription.past_due subscription.paused subscription.resumed
  subscription.trialing subscription.updated transaction.billed transaction.canceled
  transaction.completed transaction.created transaction.paid transaction.past_due
  transaction.payment_failed transaction.ready transaction.revised transaction.updated
`);
