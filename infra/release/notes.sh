#!/usr/bin/env bash
# Prints the part of CHANGELOG.md that is a version's; fails where there is none.
set -euo pipefail
version="${1:?version}"
awk -v want="## $version" '
  index($0, want) == 1 && (length($0) == length(want) || substr($0, length(want) + 1, 1) ~ /[ (]/) { on = 1; found = 1; next }
  /^## / { on = 0 }
  on
  END { exit !found }
' "$(dirname "$0")/../../CHANGELOG.md"
