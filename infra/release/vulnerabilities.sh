#!/usr/bin/env bash
# Holds the code against Go's vulnerability database. Where the database is out of reach it says so and fails nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=v1.8.0
tool="$(go env GOPATH)/bin/govulncheck"
if ! "$tool" -version 2>/dev/null | grep -q "$version"; then go install "golang.org/x/vuln/cmd/govulncheck@$version"; fi
out="$(mktemp)"
trap 'rm -f "$out"' EXIT
if "$tool" ./... >"$out" 2>&1; then
  tail -5 "$out"
elif grep -q 'fetching vulnerabilities' "$out"; then
  echo "SKIP: the vulnerability database is out of reach, so nothing was looked up"
else
  cat "$out"
  exit 1
fi
