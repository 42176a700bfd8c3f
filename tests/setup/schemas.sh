#!/usr/bin/env bash
# CloudFormation's resource schemas, from the npm package that the CDK uses. Without npm the schema test skips by name.
set -euo pipefail
cd "$(dirname "$0")/../template"
if ! command -v npm >/dev/null; then echo "npm is not here: the template is not held against CloudFormation's schemas"; exit 0; fi
[ -d node_modules/@aws-cdk/aws-service-spec ] || npm ci --no-audit --no-fund --silent
