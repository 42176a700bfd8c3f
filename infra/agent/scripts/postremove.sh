#!/bin/sh
# Nothing is left behind but after an upgrade.
set -e
case "${1:-}" in upgrade | failed-upgrade | abort-* | disappear | 1) exit 0 ;; esac
rm -rf /var/lib/bulkhead-agent
rmdir /etc/bulkhead 2>/dev/null || true
