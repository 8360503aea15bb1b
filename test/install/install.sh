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

for file in doc/uroce/LICENSE doc/uroce/README.md doc/uroce/CHANGELOG.md doc/uroce/docs/architecture.md \
	doc/uroce/docs/rules.txt uroce/afpacket.ini uroce/loop.ini uroce/memif.ini uroce/nic.ini; do
	[ -s "$root$prefix/share/$file" ]
	report $? "installs_share/$file"
done
# Every id that a public header cites stands in the list that it names.
for id in $(grep -ohE '\([A-Z]+-[0-9]+\)' "$root$prefix"/include/uroce/*.h | tr -d '()' | sort -u); do
	grep -q "^$id	" "$root$prefix/share/doc/uroce/docs/rules.txt" 2>"$root/log" || echo "$id" >>"$root/log"
done
[ ! -s "$root/log" ]
report $? rules_that_headers_cite_are_installed "$root/log"

archive=$(find "$root" -name liburoce.a)
nm -g --defined-only "$archive" | awk 'NF == 3 && $3 !~ /^uroce_/ { print $3; bad = 1 } END { exit bad }' >"$root/log"
report $? archive_exports_only_uroce_names "$root/log"

# shellcheck disable=SC2046
cc -o "$root/consumer" "$here/consumer.c" $(pkg-config $flags --cflags uroce) $(pkg-config --cflags libdpdk) \
	$(pkg-config $flags --static --libs uroce) >"$root/log" 2>&1
report $? consumer_builds_with_pkg_config_static "$root/log"
"$root/consumer" --no-huge --no-shconf --no-pci -m 64 --log-level=3 >"$root/log" 2>&1
report $? consumer_runs "$root/log"

ldd "$root/consumer" | grep -E 'librte_|libibverbs|libmlx|libpcap|libssl' >"$root/log"
[ ! -s "$root/log" ]
report $? consumer_is_linked_to_the_minimal_set "$root/log"

# A meson project that has us as a subproject gets no other names either.
mkdir -p "$root/project/subprojects"
ln -s "$(cd "$here/../.." && pwd)" "$root/project/subprojects/uroce"
cp "$here/consumer.c" "$root/project/"
cat >"$root/project/meson.build" <<'end'
project('consumer', 'c', default_options: ['buildtype=plain', 'uroce:tests=false', 'uroce:buildtype=plain'])
executable('consumer', 'consumer.c',
  dependencies: [dependency('uroce', fallback: 'uroce'), meson.get_compiler('c').find_library('rte_net_ring')])
end
meson setup --wrap-mode=forcefallback "$root/project/build" "$root/project" >"$root/log" 2>&1 &&
	ninja -C "$root/project/build" consumer >"$root/log" 2>&1 &&
	"$root/project/build/consumer" --no-huge --no-shconf --no-pci -m 64 --log-level=3 >"$root/log" 2>&1
report $? consumer_builds_with_a_meson_subproject "$root/log"

for header in "$root$prefix"/include/uroce/*.h; do
	echo "#include <uroce/$(basename "$header")>" | g++ -x c++ -fsyntax-only -Wall -Wextra -Werror \
		-I"$root$prefix/include" - >"$root/log" 2>&1
	report $? "header_$(basename "$header" .h)_compiles_as_c++" "$root/log"
done
echo "1..$count"
