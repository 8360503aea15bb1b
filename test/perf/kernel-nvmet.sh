# kernel-nvmet.sh - sets up a guest as a target: Linux's nvmet with a disk in memory; guest-init.sh reads it
# SPDX-License-Identifier: BSD-3-Clause
mkdir -p /dev/shm /var/run
mount -t tmpfs none /dev/shm
mount -t configfs none /sys/kernel/config
address=$(sed -n 's/.*guest_ip=\([^ ]*\).*/\1/p' /proc/cmdline)
/tools/ip link set lo up
/tools/ip link set eth0 mtu 4200 up
/tools/ip addr add "$address" dev eth0
/tools/rdma link add rxe0 type rxe netdev eth0
nvmet=/sys/kernel/config/nvmet
subsystem=$nvmet/subsystems/nqn.2026-01.org.example:linux
mkdir "$subsystem" "$subsystem/namespaces/1" $nvmet/ports/1
echo 1 > "$subsystem/attr_allow_any_host"
echo /dev/ram0 > "$subsystem/namespaces/1/device_path"
echo 1 > "$subsystem/namespaces/1/enable"
echo rdma > $nvmet/ports/1/addr_trtype
echo ipv4 > $nvmet/ports/1/addr_adrfam
echo "${address%/*}" > $nvmet/ports/1/addr_traddr
echo 4420 > $nvmet/ports/1/addr_trsvcid
ln -s "$subsystem" $nvmet/ports/1/subsystems/
