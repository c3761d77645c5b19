import { wordsOf } from "@millrace/core";

/**
 * Events of GitHub, as `X-GitHub-Event` names them.
 *
 * Source: https://docs.github.com/webhooks/webhook-events-and-payloads
 */
export const GITHUB_TYPES = wordsOf(`
  branch_protection_configuration branch_protection_rule check_run check_suite code_scanning_alert
  commit_comment create custom_property custom_property_values delete dependabot_alert deploy_key
  deployment deployment_protection_rule deployment_review deployment_status discussion
  discussion_comment fork github_app_authorization gollum installation installation_repositories
  installation_target issue_comment issue_dependencies issues label marketplace_purchase member
  membership merge_group meta milestone org_block organization package page_build
  personal_access_token_request ping project project_card project_column projects_v2
  projects_v2_item projects_v2_status_update public pull_request pull_request_review
  pull_request_review_comment pull_request_review_thread push registry_package release repository
  repository_advisory repository_dispatch repository_import repository_ruleset
  repository_vulnerability_alert secret_scanning_alert secret_scanning_alert_location
  secret_scanning_scan security_advisory security_and_analysis sponsorship star status sub_issues
  team team_add watch workflow_dispatch workflow_job workflow_run
`);

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

/** Types that Stripe sends as a whole event, and as a notification with `v1.` in front. */
const BOTH = wordsOf(`
  account.updated account.application.{authorized,deauthorized}
  account.external_account.{created,deleted,updated} application_fee.{created,refunded}
  application_fee.refund.updated balance.available balance_settings.updated billing.alert.triggered
  billing.credit_balance_transaction.created billing.credit_grant.{created,updated}
  billing.meter.{created,deactivated,reactivated,updated}
  billing_portal.configuration.{created,updated} billing_portal.session.created capability.updated
  cash_balance.funds_available charge.{captured,expired,failed,pending,refunded,succeeded,updated}
  charge.dispute.{closed,created,funds_reinstated,funds_withdrawn,updated} charge.refund.updated
  checkout.session.{async_payment_failed,async_payment_succeeded,completed,expired}
  climate.order.{canceled,created,delayed,delivered,product_substituted}
  climate.product.{created,pricing_updated} coupon.{created,deleted,updated}
  credit_note.{created,updated,voided} customer.{created,deleted,updated}
  customer.discount.{created,deleted,updated}
  customer.subscription.{created,deleted,paused,pending_update_applied,pending_update_expired}
  customer.subscription.{resumed,trial_will_end,updated} customer.tax_id.{created,deleted,updated}
  customer_cash_balance_transaction.created entitlements.active_entitlement_summary.updated
  file.created
  financial_connections.account.{account_numbers_updated,created,deactivated,disconnected}
  financial_connections.account.{expected_deactivation_date_updated,reactivated,refreshed_balance}
  financial_connections.account.{refreshed_ownership,refreshed_transactions}
  financial_connections.account.supported_payment_method_types_updated
  financial_connections.account.{upcoming_account_number_expiry,upcoming_deactivation}
  identity.verification_session.{canceled,created,processing,redacted,requires_input,verified}
  invoice.{created,deleted,finalization_failed,finalized,marked_uncollectible,overdue,overpaid}
  invoice.{paid,payment_action_required,payment_attempt_required,payment_failed,payment_succeeded}
  invoice.{sent,upcoming,updated,voided,will_be_due} invoice_payment.paid
  invoiceitem.{created,deleted} issuing_authorization.{created,request,updated}
  issuing_card.{created,updated} issuing_cardholder.{created,updated}
  issuing_dispute.{closed,created,funds_reinstated,funds_rescinded,submitted,updated}
  issuing_personalization_design.{activated,deactivated,rejected,updated}
  issuing_token.{created,updated}
  issuing_transaction.{created,purchase_details_receipt_updated,updated} mandate.updated
  payment_intent.{amount_capturable_updated,canceled,created,partially_funded,payment_failed}
  payment_intent.{processing,requires_action,succeeded} payment_link.{created,updated}
  payment_method.{attached,automatically_updated,detached,updated}
  payout.{canceled,created,failed,paid,reconciliation_completed,updated}
  person.{created,deleted,updated} plan.{created,deleted,updated} price.{created,deleted,updated}
  product.{created,deleted,updated} promotion_code.{created,updated}
  quote.{accepted,canceled,created,finalized} radar.early_fraud_warning.{created,updated}
  refund.{created,failed,updated} review.{closed,opened}
  setup_intent.{canceled,created,requires_action,setup_failed,succeeded}
  sigma.scheduled_query_run.created source.{canceled,chargeable,failed,refund_attributes_required}
  subscription_schedule.{aborted,canceled,completed,created,expiring,released,updated}
  tax.settings.updated tax_rate.{created,updated}
  terminal.reader.{action_failed,action_succeeded,action_updated}
  test_helpers.test_clock.{advancing,created,deleted,internal_failure,ready}
  topup.{canceled,created,failed,reversed,succeeded} transfer.{created,reversed,updated}
`);

const NOTIFIED = BOTH.map((type) => `v1.${type}` as const);

const WHOLE = wordsOf(`
  apps.install.{created,deleted,updated} customer.source.{created,deleted,expiring,updated}
  financial_connections.authorization.{expected_deactivation_date_updated,upcoming_deactivation}
  reporting.report_run.{failed,succeeded} reporting.report_type.updated
  reserve.hold.{created,updated} reserve.plan.{created,disabled,expired,updated}
  reserve.release.created source.mandate_notification source.transaction.{created,updated}
  three_d_secure.authentication.{canceled,challenge_started,errored,failed,requires_challenge}
  three_d_secure.authentication.{requires_submission,succeeded}
  treasury.credit_reversal.{created,posted}
  treasury.debit_reversal.{completed,created,initial_credit_granted}
  treasury.financial_account.{closed,created,features_status_updated}
  treasury.inbound_transfer.{canceled,created,failed,succeeded}
  treasury.outbound_payment.{canceled,created,expected_arrival_date_updated,failed,posted,returned}
  treasury.outbound_payment.tracking_details_updated
  treasury.outbound_transfer.{canceled,created,expected_arrival_date_updated,failed,posted}
  treasury.outbound_transfer.{returned,tracking_details_updated}
  treasury.received_credit.{created,failed,succeeded} treasury.received_debit.created
`);

/** Of notifications (thin events), which name an object for you to fetch. */
const NOTIFICATIONS = wordsOf(`
  v1.billing.meter.{error_report_triggered,no_meter_found} v1.customer.discount.source_changed
  v1.customer.subscription.{active,cancel_at_changed,default_payment_method_changed,incomplete}
  v1.customer.subscription.{incomplete_expired,item_added,item_price_changed,item_quantity_changed}
  v1.customer.subscription.{item_removed,item_tax_rates_changed,past_due,trialing,unpaid}
  v1.entitlements.active_entitlement_summary.{entitlement_added,entitlement_removed}
  v1.financial_connections.account.{balance_refresh_failed,balance_refresh_succeeded}
  v1.financial_connections.account.inferred_balances_refresh_failed
  v1.financial_connections.account.{inferred_balances_refresh_succeeded,ownership_refresh_failed}
  v1.financial_connections.account.{ownership_refresh_succeeded,risk_intelligence_refresh_failed}
  v1.financial_connections.account.risk_intelligence_refresh_succeeded
  v1.financial_connections.account.{transactions_refresh_failed,transactions_refresh_succeeded}
  v1.invoice.{discount_added,discount_removed,line_item_added,line_item_pricing_changed}
  v1.invoice.{line_item_quantity_changed,line_item_removed} v1.invoice_payment.{canceled,open}
  v1.invoiceitem.{amount_changed,discount_added,discount_removed}
  v1.price.{activated,deactivated,lookup_key_changed,tax_behavior_changed}
  v1.product.{activated,deactivated,default_price_changed,tax_code_changed}
  v1.promotion_code.fully_redeemed
  v1.subscription_schedule.{phase_added,phase_default_tax_rates_changed,phase_end_date_changed}
  v1.subscription_schedule.{phase_removed,phase_trial_end_changed}
  v2.commerce.product_catalog.imports.{failed,processing,succeeded,succeeded_with_errors}
  v2.core.account.{closed,created,updated}
  v2.core.account[configuration.customer].{capability_status_updated,updated}
  v2.core.account[configuration.merchant].{capability_status_updated,updated}
  v2.core.account[configuration.recipient].{capability_status_updated,updated}
  v2.core.account[defaults].updated v2.core.account[future_requirements].updated
  v2.core.account[identity].updated v2.core.account[requirements].updated
  v2.core.account_link.returned v2.core.account_person.{created,deleted,updated}
  v2.core.event_destination.ping v2.money_management.adjustment.created
  v2.money_management.financial_account.{created,updated}
  v2.money_management.financial_address.{activated,failed}
  v2.money_management.inbound_transfer.{available,bank_debit_failed,bank_debit_processing}
  v2.money_management.inbound_transfer.{bank_debit_queued,bank_debit_returned,bank_debit_succeeded}
  v2.money_management.outbound_payment.{canceled,created,failed,posted,returned,under_review}
  v2.money_management.outbound_payment.updated
  v2.money_management.payout_intent.{canceled,created,pending,posted,processing,requires_action}
  v2.money_management.payout_intent.updated v2.money_management.payout_method.{created,updated}
  v2.money_management.received_credit.{available,failed,returned,succeeded}
  v2.money_management.recipient_verification.{created,updated}
  v2.money_management.transaction.{created,updated}
`);

/** The types of events and of event notifications of Stripe's Node SDK, which a test compares. */
export const STRIPE_TYPES = [...WHOLE, ...BOTH, ...NOTIFIED, ...NOTIFICATIONS];
