#!/usr/bin/env bash
# Installs what the tests need beside Go. Each part is idempotent, and a part that is not possible on a machine says so:
# the tests that need it then skip by name.
set -euo pipefail
here="$(dirname "$0")"
for part in "$here"/*.sh; do
  [ "$part" = "$here/all.sh" ] && continue
  echo "-- $(basename "$part" .sh)"
  bash "$part"
done
