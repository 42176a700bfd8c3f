#!/usr/bin/env bash
# Lambda's runtime interface emulator, built from its Go module: it runs the functions' real bootstraps.
set -euo pipefail
[ -x "$(go env GOPATH)/bin/aws-lambda-rie" ] || go install github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie@latest
