#!/bin/sh
# deb says "remove" or "upgrade", rpm says how many versions stay. An upgrade keeps the agent, its spool and its state.
set -e
case "${1:-}" in upgrade | 1) exit 0 ;; esac
[ -d /run/systemd/system ] || exit 0
systemctl stop bulkhead-agent.service || true
systemctl --no-reload disable bulkhead-agent.service >/dev/null 2>&1 || true
