# set-up.sh - sets up a guest as a machine whose NICs are for DPDK; guest-init.sh reads it
# SPDX-License-Identifier: BSD-3-Clause
# eth0 is the kernel's, for TCP; the other NICs, whose addresses stand in nics=, go to vfio-pci.
mkdir -p /dev/hugepages /dev/shm /var/run
mount -t hugetlbfs none /dev/hugepages
mount -t tmpfs none /dev/shm
/tools/ip link set lo up
/tools/ip link set eth0 mtu 4200 up
/tools/ip addr add "$(sed -n 's/.*guest_ip=\([^ ]*\).*/\1/p' /proc/cmdline)" dev eth0
# The emulated IOMMU remaps no interrupts, without which vfio is for the trusting only.
echo 1 > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts
for address in $(sed -n 's/.* nics=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	device=/sys/bus/pci/devices/$address
	echo vfio-pci > "$device/driver_override"
	[ ! -e "$device/driver" ] || echo "$address" > "$device/driver/unbind"
	echo "$address" > /sys/bus/pci/drivers_probe
done
