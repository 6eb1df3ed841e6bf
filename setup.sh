#!/usr/bin/env bash
# Prepares a Debian machine and builds tenc: installs the Debian packages that are missing, then configures and builds
# the release preset into build/release. NVRTC, which some tests need, comes from PyPI into build/nvrtc, where that can be had.
set -eu
cd "$(dirname "$0")"

packages=(
  clang-19 lld-19 llvm-19-dev llvm-19-tools libclang-rt-19-dev clang-format-19 clang-tidy-19 libclang-19-dev
  antlr4 libantlr4-runtime-dev
  ccache cmake ninja-build
  libpng-dev libhwy-dev libxbyak-dev libjemalloc-dev libopenblas-serial-dev libgfortran-12-dev libgtest-dev libedit-dev libbsd-dev libmd-dev libncurses-dev zlib1g-dev libzstd-dev libxml2-dev
  python3 python3-numpy python3-markdown python3-pygments
)

missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed$' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "installing: ${missing[*]}"
  root=()
  [ "$(id -u)" -eq 0 ] || root=(sudo)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# For the tests of CUDA kernels; without it they are skipped.
python3 tests/cuda/nvrtc/install.py build/nvrtc

cmake --preset release
cmake --build --preset release
