#!/usr/bin/env bash
# The real MPS control daemon, which runs without a GPU: Debian 12's non-free component (and contrib, for what it needs). Proprietary, so it is installed
# as a package and never copied. Where the component is not to be had, the tests that need it skip by name.
set -euo pipefail
if command -v nvidia-cuda-mps-control >/dev/null; then echo "nvidia-cuda-mps-control is here"; exit 0; fi
skip() { echo "$1: the tests against the real MPS control daemon will skip"; exit 0; }
command -v apt-get >/dev/null || skip "no apt-get"
[ "$(id -u)" = 0 ] || skip "not root"
[ "$(. /etc/os-release && echo "${ID:-}")" = debian ] || skip "not Debian"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "not amd64"
codename="$(. /etc/os-release && echo "$VERSION_CODENAME")"
exec 9>/tmp/bh-apt.lock
flock 9
list=/etc/apt/sources.list.d/bulkhead-nonfree.list
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
uri="${BULKHEAD_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
echo "deb [signed-by=$keyring] $uri $codename contrib non-free" >"$list"
# Images often ship without indexes, and the packages need some of main. A source that is out of reach fails nothing here.
apt-get update -qq || true
# Then this list alone, so that its own failure is seen.
apt-get update -qq -o Dir::Etc::sourcelist="$list" -o Dir::Etc::sourceparts=/dev/null -o APT::Get::List-Cleanup=0 ||
  skip "the non-free component is out of reach"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nvidia-cuda-mps libcuda1 >/dev/null ||
  skip "nvidia-cuda-mps did not install"
echo "installed $(dpkg-query -W -f='${Version}' nvidia-cuda-mps)"
