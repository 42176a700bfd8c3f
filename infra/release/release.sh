#!/usr/bin/env bash
# Makes a release's files: bash infra/release/release.sh 1.2.3 [dist]
# Functions, command line, agent packages where nfpm and the compilers are here, SBOM, licences, notes, and the hashes of all.
set -euo pipefail
cd "$(dirname "$0")/../.."
version="${1:-}"
out="${2:-dist}"
fail() { echo "release: $*" >&2; exit 1; }
[[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "give a semantic version, as VERSION=1.2.3"
[ -z "$(git status --porcelain)" ] || fail "the work tree has changes: a release is made of a commit"
want="$(sed -n 's/^toolchain //p' go.mod)"
[ "$(go env GOVERSION)" = "$want" ] || fail "this is $(go env GOVERSION), go.mod pins $want: other compilers give other bytes"
notes="$(bash infra/release/notes.sh "$version")" || fail "CHANGELOG.md has no part \"## $version\""

rm -rf "${out:?}" && mkdir -p "$out/release"
make build cli VERSION="$version" OUT="$out"
skipped=""
if command -v nfpm >/dev/null; then
  make packages VERSION="$version" OUT="$out" && cp "$out"/packages/* "$out/release/"
else
  skipped="nfpm is not here: no packages of the host agent were made"
fi
for f in "$out"/functions/*.zip; do cp "$f" "$out/release/function-$(basename "$f")"; done
for d in "$out"/cli/*/; do tar -C "$d" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@315532800 -cf - bulkhead | gzip -n >"$out/release/bulkhead-$version-$(basename "$d").tar.gz"; done
cp LICENSE docs/licences.md "$out/release/"
bash infra/release/sbom.sh "$version" >"$out/release/bulkhead-$version.cdx.json"
printf '%s\n' "$notes" >"$out/release/NOTES.md"
(cd "$out/release" && rm -f SHA256SUMS && sha256sum -- * >SHA256SUMS)
ls -l "$out/release"
[ -z "$skipped" ] || echo "release: $skipped" >&2
