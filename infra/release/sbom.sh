#!/usr/bin/env bash
# Prints the software bill of materials (CycloneDX, JSON) of all that go.mod builds.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=v1.10.0
tool="$(go env GOPATH)/bin/cyclonedx-gomod"
if ! "$tool" version 2>/dev/null | grep -q "${version#v}"; then
  go install "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$version" >&2
fi
# No serial number, time or tool's own hash: the same modules give the same file.
"$tool" mod -json -licenses -assert-licenses -noserial -notimestamp -std -type application -output - .
