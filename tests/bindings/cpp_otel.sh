#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings/cpp/weft_otel.hpp: what it shows at each step, and the shares of spans in recordings of
# its example. Against OpenTelemetry C++ if its headers are installed; else, since no package of
# Debian 12 has them, against those of its API that tests/bindings/otel/api writes down.
# usage: cpp_otel.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
weft=$libraries/../../weft
command -v g++ >/dev/null || { echo "1..0 # skip no g++"; exit 77; }
. "$source/tests/steps.sh"
. "$source/tests/bindings/shares.sh"
LD_LIBRARY_PATH=$libraries && export LD_LIBRARY_PATH

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
	-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wcast-qual -Wnull-dereference
	-Wdouble-promotion -Wformat=2 -Wundef -Werror"
mkdir -p "$scratch/include/weft"
cp "$source/bindings/cpp/weft.hpp" "$source/bindings/cpp/weft_otel.hpp" "$scratch/include/weft"

api="-isystem $source/tests/bindings/otel/api"
if echo '#include <opentelemetry/context/runtime_context.h>' | g++ -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
	api=
	echo "# against the OpenTelemetry C++ that is installed"
else
	echo "# against the API as written down: OpenTelemetry C++ is not installed"
fi

compiled() { # COMPILER STANDARD FILE OUTPUT
	# shellcheck disable=SC2086
	"$1" -std="$2" -O2 $warnings -I"$scratch/include" -isystem "$source/include" $api \
		-o "$scratch/$4" "$source/$3" -L"$libraries" -lweft -pthread
}

for compiler in g++ clang++; do
	command -v $compiler >/dev/null || { skip "$compiler" "it is not installed"; continue; }
	for standard in c++17 c++20; do
		step "$compiler -std=$standard: compiles" compiled $compiler $standard tests/bindings/otel/shown.cpp shown
		step "$compiler -std=$standard: at each step" "$scratch/shown"
	done
done
step "the example compiles" compiled g++ c++17 examples/otel/orders.cpp orders
for way in plain nested threads; do
	command -v jq >/dev/null || { skip "$way" "no jq"; continue; }
	step "$way: recorded" recorded "$scratch/orders" $way 2
	step "$way: shares by span" shares_agree span 3
	[ $way != nested ] || step "$way: all with the label from baggage" all_under label:tenant acme
	[ $way = plain ] || step "$way: all for one root span" all_under root "$(id_of request)"
done
finish
