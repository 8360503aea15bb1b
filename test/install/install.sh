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

for header in "$root$prefix"/include/uroce/*.h; do
	echo "#include <uroce/$(basename "$header")>" | g++ -x c++ -fsyntax-only -Wall -Wextra -Werror \
		-I"$root$prefix/include" - >"$root/log" 2>&1
	report $? "header_$(basename "$header" .h)_compiles_as_c++" "$root/log"
done
echo "1..$count"
