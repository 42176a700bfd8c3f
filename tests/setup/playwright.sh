#!/usr/bin/env bash
# Playwright without a browser of its own: it drives the Chromium that is here. Without npm the test skips by name.
set -euo pipefail
cd "$(dirname "$0")/../browser"
if ! command -v npm >/dev/null; then echo "npm is not here: nobody clicks through the page"; exit 0; fi
[ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund --silent
