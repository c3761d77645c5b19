import { wordsOf } from "./words-of.ts";

/**
 * Topics of Shopify, as `X-Shopify-Topic` names them. Each version of its API adds some.
 *
 * Source: https://shopify.dev/docs/api/webhooks
 */
export const SHOPIFY_TYPES = wordsOf(`
  app/{scopes_update,uninstalled} app_purchases_one_time/update
  app_subscriptions/{approaching_capped_amount,update} bulk_operations/finish carts/{create,update}
  checkouts/{create,delete,update} collection_listings/{add,remove,update}
  collection_publications/{create,delete,update} collections/{create,delete,update}
  companies/{create,delete,update} company_contact_roles/{assign,revoke}
  company_contacts/{create,delete,update} company_locations/{create,delete,update}
  customer_groups/{create,delete,update} customer_payment_methods/{create,revoke,update}
  customers/{create,data_request,delete,disable,enable,merge,redact,update}
  customers_email_marketing_consent/update customers_marketing_consent/update
  disputes/{create,update} domains/{create,destroy,update} draft_orders/{create,delete,update}
  fulfillment_events/{create,delete}
  fulfillment_orders/{cancellation_request_accepted,cancellation_request_rejected}
  fulfillment_orders/{cancellation_request_submitted,cancelled,fulfillment_request_accepted}
  fulfillment_orders/{fulfillment_request_rejected,fulfillment_request_submitted,hold_released}
  fulfillment_orders/{line_items_prepared_for_local_delivery,line_items_prepared_for_pickup,moved}
  fulfillment_orders/{order_routing_complete,placed_on_hold,rescheduled}
  fulfillment_orders/scheduled_fulfillment_order_ready fulfillments/{create,update}
  inventory_items/{create,delete,update} inventory_levels/{connect,disconnect,update}
  locales/{create,update} locations/{activate,create,deactivate,delete,update}
  markets/{create,delete,update} order_transactions/create
  orders/{cancelled,create,delete,edited,fulfilled,paid,partially_fulfilled,updated}
  payment_schedules/due payment_terms/{create,delete,update}
  product_feeds/{create,full_sync,incremental_sync} product_listings/{add,remove,update}
  product_publications/{create,delete,update} products/{create,delete,update}
  profiles/{create,delete,update} refunds/create
  returns/{approve,cancel,close,decline,reopen,request,update}
  reverse_deliveries/attach_deliverable reverse_fulfillment_orders/dispose
  scheduled_product_listings/{add,remove,update} segments/{create,delete,update}
  selling_plan_groups/{create,delete,update} shop/{redact,update}
  subscription_billing_attempts/{challenged,failure,success}
  subscription_billing_cycle_edits/{create,delete,update} subscription_contracts/{create,update}
  tender_transactions/create themes/{create,delete,publish,update} variants/{in_stock,out_of_stock}
`);
