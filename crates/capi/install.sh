#!/bin/sh
# Installs header, libraries and pkg-config file below PREFIX. FOLDER has the built libraries.
#
#   cargo build --release -p bufferlab-capi
#   crates/capi/install.sh PREFIX target/release
set -eu
[ $# -eq 2 ] || { echo "usage: install.sh PREFIX FOLDER" >&2; exit 2; }
mkdir -p "$1/include" "$1/lib/pkgconfig"
prefix=$(cd "$1" && pwd)
from=$(cd "$2" && pwd)
cd "$(dirname "$0")"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../../Cargo.toml | head -n 1)
abi=$(sed -n 's/^#define BUFFERLAB_ABI //p' include/bufferlab.h)
cp include/bufferlab.h "$prefix/include/"
cp "$from/libbufferlab_capi.a" "$prefix/lib/"
cp "$from/libbufferlab_capi.so" "$prefix/lib/libbufferlab_capi.so.$abi"
ln -sf "libbufferlab_capi.so.$abi" "$prefix/lib/libbufferlab_capi.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" bufferlab.pc.in > "$prefix/lib/pkgconfig/bufferlab.pc"
