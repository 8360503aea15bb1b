#!/bin/sh
# install.sh - with BUILD: installs into a folder of its own, then builds and runs programs against what was installed
# SPDX-License-Identifier: BSD-3-Clause
set -u
build=$1
here=$(dirname "$0")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
count=0

report() { # STATUS NAME [LOG]
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - install::$2"
	else
		echo "not ok $count - install::$2"
		[ $# -lt 3 ] || sed 's/^/# /' "$3"
	fi
}

DESTDIR="$root" meson install -C "$build" --no-rebuild --quiet >"$root/log" 2>&1
report $? files_are_installed "$root/log"
pc=$(find "$root" -name uroce.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH="$(dirname "$pc")"
flags="--define-variable=prefix=$root$prefix"

for file in doc/uroce/LICENSE doc/uroce/README.md doc/uroce/CHANGELOG.md doc/uroce/docs/explanation/architecture.md \
	doc/uroce/docs/contributing/rules.md uroce/afpacket.ini uroce/loop.ini uroce/memif.ini uroce/nic.ini \
	uroce/nvmet.ini \
	uroce/uroce-nvmet.service bash-completion/completions/uroce-testpmd zsh/vendor-completions/_uroce; do
	[ -s "$root$prefix/share/$file" ]
	report $? "installs_share/$file"
done
# A program that the guide tells to start is there, with its manual.
docs=$root$prefix/share/doc/uroce/docs
for program in $(grep -ohE 'uroce-[a-z]+(-perf)?' "$docs"/tutorial/*.md "$docs"/howto/*.md | sort -u); do
	case $program in # no programs
	uroce-nic | uroce-session | uroce-dev | uroce-doc | uroce-tools | uroce-verbs) continue ;;
	esac
	[ -x "$root$prefix/bin/$program" ] && [ -s "$root$prefix/share/man/man1/$program.1" ]
	report $? "installs_$program"
done
for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "EXIT STATUS" "SEE ALSO"; do
	grep -LE "^\.SH $section\$" "$root$prefix"/share/man/man1/uroce-*.1 >"$root/log"
	[ ! -s "$root/log" ]
	report $? "manual_pages_have_$(echo "$section" | tr 'A-Z ' 'a-z_')" "$root/log"
done
for header in "$root$prefix"/include/uroce/*.h; do
	name=$(basename "$header" .h)
	[ "$name" = uroce ] && continue
	[ -s "$root$prefix/share/man/man3/uroce_$name.3" ] || echo "$name"
done >"$root/log"
[ ! -s "$root/log" ] && [ -s "$root$prefix/share/man/man7/uroce.7" ]
report $? "each_header_has_a_manual_page" "$root/log"
# What make deb installs is what dpkg-buildpackage asks for, build-essential among it, which is nowhere named.
source="$here/../.."
sed -n 's/^\(build\|deb\): *//p' "$source/config/packages.txt" | tr ' ' '\n' >"$root/have"
for package in build-essential $(sed -n '/^Build-Depends:/,/^[^ ]/s/^ \([a-z0-9.+-]*\).*/\1/p' \
	"$source/config/debian/control"); do
	case $package in
	debhelper-compat) package=debhelper ;;
	dh-sequence-python3) package=dh-python ;;
	esac
	grep -qx "$package" "$root/have" || echo "make deb does not install $package" >>"$root/log.deb"
done
for package in $(grep -- '-dev$' "$root/have"); do
	case $package in libc6-dev | dpkg-dev | libcriterion-dev) continue ;; esac # of build-essential; of tests
	grep -q "^ $package\b" "$source/config/debian/control" || echo "control lacks $package" >>"$root/log.deb"
done
[ ! -s "$root/log.deb" ]
report $? debian_control_lists_the_build_packages "$root/log.deb"
# What systemd does not understand, it only remarks upon.
if command -v systemd-analyze >/dev/null; then
	sed "s|^ExecStart=[^ ]*|ExecStart=$root$prefix/bin/uroce-nvmet|" \
		"$root$prefix/share/uroce/uroce-nvmet.service" >"$root/uroce-nvmet.service"
	systemd-analyze verify --man=no "$root/uroce-nvmet.service" >"$root/log" 2>&1 && [ ! -s "$root/log" ]
	report $? systemd_understands_the_unit "$root/log"
	systemd-analyze security --offline=true --threshold=40 --no-pager "$root/uroce-nvmet.service" >"$root/log" 2>&1
	report $? unit_has_few_rights "$root/log"
fi
# Every id that a public header cites stands in the list that it names.
for id in $(grep -ohE '\([A-Z]+-[0-9]+\)' "$root$prefix"/include/uroce/*.h | tr -d '()' | sort -u); do
	grep -q "^### $id$" "$docs/contributing/rules.md" 2>"$root/log" || echo "$id" >>"$root/log"
done
[ ! -s "$root/log" ]
report $? rules_that_headers_cite_are_installed "$root/log"

for archive in liburoce liburoce_ports; do
	nm -g --defined-only "$(find "$root" -name $archive.a)" |
		awk 'NF == 3 && $3 !~ /^uroce_/ { print $3; bad = 1 } NF == 3 { some = 1 } END { exit bad || !some }' \
			>"$root/log"
	report $? "${archive}_exports_only_uroce_names" "$root/log"
done

# The provider for libibverbs, where it can be built. Whether such a program moves data is tried by test/verbs.
if [ -e "$(dirname "$pc")/uroce-verbs.pc" ]; then
	# shellcheck disable=SC2046
	cc -DLINKED -o "$root/linked" "$here/../verbs/dlopened.c" $(pkg-config $flags --static --libs uroce-verbs) \
		-libverbs >"$root/log" 2>&1 && nm "$root/linked" >"$root/names" &&
		grep -q ' __wrap_ibv_create_comp_channel$' "$root/names" && grep -q ' uroce_eal_start$' "$root/names"
	report $? verbs_program_builds_with_pkg_config_static "$root/log"
	nm -g --defined-only "$(find "$root" -name liburoce-verbs.a)" >"$root/names" &&
		awk 'NF == 3 && $3 != "__wrap_ibv_create_comp_channel"' "$root/names" >"$root/log" &&
		[ ! -s "$root/log" ]
	report $? liburoce_verbs_exports_one_name "$root/log"
fi

# shellcheck disable=SC2046
cc -o "$root/consumer" "$here/consumer.c" $(pkg-config $flags --cflags uroce) $(pkg-config --cflags libdpdk) \
	$(pkg-config $flags --static --libs uroce) >"$root/log" 2>&1
report $? consumer_builds_with_pkg_config_static "$root/log"
"$root/consumer" --no-huge --no-shconf --no-pci -m 64 --log-level=3 >"$root/log" 2>&1
report $? consumer_runs "$root/log"

ldd "$root/consumer" | grep -E 'librte_|libibverbs|libmlx|libpcap|libssl' >"$root/log"
[ ! -s "$root/log" ]
report $? consumer_is_linked_to_the_minimal_set "$root/log"

# shellcheck disable=SC2046
cc -o "$root/ports" "$here/ports.c" $(pkg-config $flags --cflags --static --libs uroce) >"$root/log" 2>&1
report $? program_over_ports_builds_with_pkg_config_static "$root/log"
"$root/ports" >"$root/log" 2>&1
report $? program_over_ports_runs "$root/log"
ldd "$root/ports" | grep -E 'librte_|libibverbs|libmlx|libpcap|libssl' >"$root/log"
[ ! -s "$root/log" ]
report $? program_over_ports_is_linked_to_the_minimal_set "$root/log"

# The examples, from where they are installed; the one that needs no peer runs.
examples="$root$prefix/share/doc/uroce/examples"
for example in block_store echo replicated_store two_paths; do
	# shellcheck disable=SC2046
	cc -o "$root/$example" "$examples/$example.c" $(pkg-config $flags --cflags --static --libs uroce) \
		>"$root/log" 2>&1
	report $? "example_${example}_builds_with_pkg_config_static" "$root/log"
done
"$root/two_paths" >"$root/log" 2>&1
report $? example_two_paths_runs "$root/log"

# The client of the guide.
sed '1,/^```c$/d' "$root$prefix/share/doc/uroce/docs/tutorial/programming.md" | sed '/^```$/,$d' >"$root/guide.c"
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -o "$root/readme" "$root/guide.c" $(pkg-config $flags --cflags --static --libs uroce) \
	>"$root/log" 2>&1
report $? client_of_the_guide_builds_with_pkg_config_static "$root/log"

# The target, as a project of its own that has no more of us than its sources and what is installed.
nm "$(find "$root" -name liburoce.a)" | awk '$NF ~ /^nvmf_/' >"$root/log"
[ ! -s "$root/log" ]
report $? liburoce_has_nothing_of_nvmf "$root/log"
mkdir -p "$root/target/common" "$root/target/nvmf" "$root/target/share"
cp -r "$here/../../app/nvmet" "$root/target/"
for part in dry eal exit histogram ini json names number option option_help option_row words; do
	cp "$here/../../app/common/$part".[ch] "$root/target/common/"
done
cp "$here/../../app/common/clock.h" "$here/../../app/common/words.def" "$root/target/common/"
cp "$here/../../lib/nvmf"/* "$root/target/nvmf/"
cp "$here/../../lib/share"/* "$root/target/share/"
# shellcheck disable=SC2046
cc -D_GNU_SOURCE -DAPP_DPDK_VERSION='"none"' -DAPP_IBVERBS_VERSION='"none"' -Wall -Wextra \
	-Wno-missing-field-initializers -Werror -I"$root/target" -o "$root/nvmet" \
	"$root/target"/*/*.c $(pkg-config $flags --cflags --static --libs uroce) \
	$(pkg-config --cflags --libs liburing uuid jansson) $(pkg-config --cflags libdpdk) >"$root/log" 2>&1
report $? nvmet_builds_with_pkg_config_static "$root/log"
set -- --nqn nqn.2026-01.org.example:disk --memory 16M --ip 10.0.0.1/24 -d loop
"$root/nvmet" --dry-run "$@" >"$root/log" 2>&1
report $? nvmet_dry_run_succeeds "$root/log"
timeout --preserve-status 1 "$root/nvmet" "$@" >"$root/log" 2>&1 &&
	grep -q "nvme connect .*nqn.2026-01.org.example:disk" "$root/log" && grep -q "0 commands" "$root/log"
report $? nvmet_runs "$root/log"

# With the NICs: it links, has their drivers in it, and works as before.
# shellcheck disable=SC2046
cc -o "$root/nic" "$here/ports.c" $(pkg-config $flags --cflags --static --libs uroce-nic) >"$root/log" 2>&1
report $? program_with_nics_builds_with_pkg_config_static "$root/log"
"$root/nic" >"$root/log" 2>&1
report $? program_with_nics_runs "$root/log"
strings "$root/nic" 2>/dev/null | sed -n 's/^PMD_INFO_STRING= {"name": "\([^"]*\)".*/\1/p' | sort -u >"$root/drivers"
for driver in mlx5_eth net_bnxt net_e1000_igb net_ena net_i40e net_iavf net_ice net_ixgbe net_mlx4 net_virtio \
	net_vmxnet3 net_af_packet net_memif net_tap; do
	grep -qx "$driver" "$root/drivers"
	report $? "program_with_nics_has_$driver" "$root/drivers"
done

# CMake, by the list of the linker's words: an imported target would sort them.
mkdir "$root/cmake"
sed "s|^prefix=.*|prefix=$root$prefix|" "$pc" >"$root/cmake/uroce.pc"
if command -v cmake >/dev/null; then
	cp "$here/ports.c" "$examples"/* "$root/cmake/"
	cat >"$root/cmake/CMakeLists.txt" <<'end'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(UROCE REQUIRED uroce)
foreach(name ports block_store echo replicated_store two_paths)
  add_executable(${name} ${name}.c)
  target_include_directories(${name} PRIVATE ${UROCE_STATIC_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE ${UROCE_STATIC_LDFLAGS})
endforeach()
end
	{ PKG_CONFIG_PATH="$root/cmake" cmake -S "$root/cmake" -B "$root/cmake/build" &&
		cmake --build "$root/cmake/build"; } >"$root/log" 2>&1 && "$root/cmake/build/ports" >"$root/log" 2>&1 &&
		"$root/cmake/build/two_paths" >"$root/log" 2>&1
	report $? programs_build_with_cmake "$root/log"
else
	count=$((count + 1))
	echo "ok $count - install::programs_build_with_cmake # SKIP there is no cmake"
fi

# A meson project that has us as a subproject gets no other names either; one that has not takes what is installed.
mkdir -p "$root/project/subprojects" "$root/plain"
ln -s "$(cd "$here/../.." && pwd)" "$root/project/subprojects/uroce"
cp "$here/consumer.c" "$here/ports.c" "$examples"/* "$root/project/"
cp "$here/ports.c" "$examples"/* "$root/plain/"
cat >"$root/project/meson.build" <<'end'
project('consumer', 'c', default_options: ['buildtype=plain', 'uroce:tests=false', 'uroce:buildtype=plain'])
uroce = dependency('uroce', fallback: 'uroce')
executable('consumer', 'consumer.c', dependencies: uroce)
foreach name : ['ports', 'block_store', 'echo', 'replicated_store', 'two_paths']
  executable(name, name + '.c', dependencies: uroce)
endforeach
end
cat >"$root/plain/meson.build" <<'end'
project('ports', 'c')
foreach name : ['ports', 'block_store', 'echo', 'replicated_store', 'two_paths']
  executable(name, name + '.c', dependencies: dependency('uroce', static: true))
endforeach
end
meson setup --wrap-mode=forcefallback "$root/project/build" "$root/project" >"$root/log" 2>&1 &&
	ninja -C "$root/project/build" consumer ports block_store echo replicated_store two_paths >"$root/log" 2>&1 &&
	"$root/project/build/consumer" --no-huge --no-shconf --no-pci -m 64 --log-level=3 >"$root/log" 2>&1 &&
	"$root/project/build/ports" >"$root/log" 2>&1 && "$root/project/build/two_paths" >"$root/log" 2>&1
report $? programs_build_with_a_meson_subproject "$root/log"
PKG_CONFIG_PATH="$root/cmake" meson setup "$root/plain/build" "$root/plain" >"$root/log" 2>&1 &&
	ninja -C "$root/plain/build" >"$root/log" 2>&1 && "$root/plain/build/ports" >"$root/log" 2>&1 &&
	"$root/plain/build/two_paths" >"$root/log" 2>&1
report $? programs_build_with_meson "$root/log"

for header in "$root$prefix"/include/uroce/*.h; do
	echo "#include <uroce/$(basename "$header")>" | g++ -x c++ -fsyntax-only -Wall -Wextra -Werror \
		-I"$root$prefix/include" - >"$root/log" 2>&1
	report $? "header_$(basename "$header" .h)_compiles_as_c++" "$root/log"
done
echo "1..$count"
