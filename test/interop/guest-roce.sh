# guest-roce.sh - sets up a guest as a host with Soft-RoCE; guest-init.sh reads it
# SPDX-License-Identifier: BSD-3-Clause
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
