#!/usr/bin/env bash
# Chromium, for the tests that look at the page. Where there is no apt they skip by name.
set -euo pipefail
command -v chromium >/dev/null && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then echo "Chromium is not here and cannot be installed: the page is not looked at"; exit 0; fi
[ -n "$(ls -A /var/lib/apt/lists 2>/dev/null | grep -v -e lock -e partial)" ] || apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
