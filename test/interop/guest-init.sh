#!/bin/sh
# guest-init.sh - first process of a guest: sets up what it is for, then serves commands from the second serial line
# SPDX-License-Identifier: BSD-3-Clause
# A request is one line "ID SECONDS COMMAND". Requests run side by side, each under a time limit. When one has
# ended, its answer is written in one piece: "BEGIN ID", its output, "END ID STATUS".
export PATH=/tools:/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /tmp /run
while read -r module; do
	insmod "/modules/$module"
done < /modules/order
. /set-up
stty -F /dev/ttyS1 raw -echo

serve() {
	timeout -k 2 "$2" sh -c "$3" > "/tmp/$1" 2>&1 < /dev/null
	status=$?
	{
		/tools/flock 9
		echo "BEGIN $1"
		cat "/tmp/$1"
		echo
		echo "END $1 $status"
	} 9> /run/answering > /dev/ttyS1
	rm -f "/tmp/$1"
}

# busybox forgets a line half read when a child ends meanwhile (SIGCHLD), so the reader must not be the parent of
# what it starts: the inner subshell ends at once, and process 1, not the reader, inherits the command.
echo GUEST-IS-UP
(
	while read -r id seconds command; do
		( serve "$id" "$seconds" "$command" & )
	done < /dev/ttyS1
)
poweroff -f
