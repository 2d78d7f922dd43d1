#!/bin/sh
# Builds the star `incast` against an installed ns-3 and an installed bufferlab.
#
#   build.sh NS3 BUFFERLAB PROGRAM
#
# NS3 has include/ns3 and the libraries: /usr for Debian's libns3-dev, the folder `ns3` of the wheel
# from PyPI. BUFFERLAB is the prefix of crates/capi/install.sh. The variable CXXFLAGS may add
# compiler flags.
set -eu
[ $# -eq 3 ] || { echo "usage: build.sh NS3 BUFFERLAB PROGRAM" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$1/include/ns3/core-module.h" ] || { echo "no ns-3 in $1" >&2; exit 1; }
core=$(find "$1/lib64" "$1/lib" -name 'libns3*-core.so' 2>/dev/null | head -n 1)
[ -n "$core" ] || { echo "no library of ns-3 in $1" >&2; exit 1; }
libraries=$(cd "$(dirname "$core")" && pwd)
bufferlab=$(cd "$2" && pwd)
name=$(basename "$core" -core.so)
name=${name#lib}
modules=
for module in applications traffic-control point-to-point internet bridge mpi network stats core; do
    if [ -e "$libraries/lib$name-$module.so" ]; then modules="$modules -l$name-$module"; fi
done
# C++20 refuses the constructors that ns-3 3.37 declares; ns-3 3.44 needs C++20.
standard=c++20
if grep -q 'Singleton<T>()' "$1/include/ns3/singleton.h"; then standard=c++17; fi
# The option -isystem hides warnings in headers of ns-3. GCC searches /usr/include without it.
headers=
if [ "$1" != /usr ]; then headers="-isystem $(cd "$1/include" && pwd)"; fi
# shellcheck disable=SC2086
c++ -std=$standard -O1 -Wall -Wextra -Werror ${CXXFLAGS:-} $headers \
    -I "$bufferlab/include" -I "$here" \
    "$here/bufferlab-queue-disc.cc" "$here/incast.cc" \
    -L "$libraries" -Wl,-rpath,"$libraries" -Wl,-rpath-link,"$libraries" $modules \
    -L "$bufferlab/lib" -Wl,-rpath,"$bufferlab/lib" -lbufferlab_capi -o "$3"
