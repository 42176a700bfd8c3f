#!/bin/sh
# No "systemctl daemon-reload" here, ever: on a host with GPU tasks it can take the GPUs from running containers.
# A unit file that systemd does not know yet is found without it; an upgrade that changes the unit takes effect at the
# next boot, and the new binary now.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl --no-reload enable bulkhead-agent.service >/dev/null 2>&1 || true
if systemctl is-active --quiet bulkhead-agent.service; then
  systemctl restart bulkhead-agent.service || true
else
  systemctl start bulkhead-agent.service || true
fi
