#!/bin/sh
# guest-init.sh - first process of the guest: brings up Soft-RoCE, then serves commands from the second serial line
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
/tools/ip link set lo up
/tools/ip link set eth0 mtu 4200 up
/tools/ip addr add "$(sed -n 's/.*guest_ip=\([^ ]*\).*/\1/p' /proc/cmdline)" dev eth0
vlan=eth0.$(sed -n 's/.*vlan=\([0-9]*\).*/\1/p' /proc/cmdline)
/tools/ip link add link eth0 name "$vlan" type vlan id "${vlan#eth0.}"
/tools/ip link set "$vlan" up
/tools/ip addr add 10.9.100.2/24 dev "$vlan"
/tools/ip addr add fd00:9::2/64 dev "$vlan" nodad
/tools/rdma link add rxe0 type rxe netdev eth0
# A second way to the host.
/tools/ip link set eth1 mtu 4200 up
/tools/ip addr add 10.9.1.2/24 dev eth1
/tools/rdma link add rxe1 type rxe netdev eth1
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
	} 9> /run/lock > /dev/ttyS1
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
