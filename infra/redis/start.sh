#!/bin/sh
# Starts Redis with the users of users.acl: `start.sh redis-server --appendonly yes ...`. Their passwords come from the environment, so
# that they stand in no file and in no command line. Redis is given their hashes.
set -eu

hash() {
  printf %s "$1" | sha256sum | cut -d ' ' -f 1
}

umask 077
users="$(mktemp)"
sed \
  -e "s/#ADMIN_PASSWORD_SHA256/#$(hash "$REDISCLI_AUTH")/" \
  -e "s/#INGRESS_PASSWORD_SHA256/#$(hash "$REDIS_INGRESS_PASSWORD")/" \
  -e "s/#WORKER_PASSWORD_SHA256/#$(hash "$REDIS_WORKER_PASSWORD")/" \
  -e "s/#DASHBOARD_PASSWORD_SHA256/#$(hash "$REDIS_DASHBOARD_PASSWORD")/" \
  "$(dirname "$0")/users.acl" >"$users"
exec "$@" --aclfile "$users"
