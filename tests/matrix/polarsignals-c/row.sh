# SPDX-License-Identifier: Apache-2.0
# polarsignals' C library, whose sources come with the crate: Custom Labels of libcustomlabels.so.
version="libcustomlabels.so"

get() {
	local sources
	mkdir -p src && : >src/lib.rs
	printf '[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\ncustom-labels = "0.4.5"\n[workspace]\n' >Cargo.toml
	fetched cargo fetch -q || return
	sources=$(crate_directory custom-labels)/src
	version="libcustomlabels.so of custom-labels $(crate_version custom-labels)"
	g++ -O2 -fPIC -shared -ftls-model=global-dynamic -mtls-dialect=gnu2 -I"$sources" \
		-o libcustomlabels.so "$sources/customlabels.cpp" &&
		gcc -std=gnu11 -O2 -Wall -Wextra -include stddef.h -I"$sources" -o program main.c \
			-L. -lcustomlabels -Wl,-rpath,"$PWD" -pthread || return
	command=("$PWD/program")
}
