/* release.h - what differs between the releases of DPDK that we are built with: those of Debian 12, 13 and sid */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code is written for the newest release; here it gets the older ones' names of what it calls. Which of DPDK's
 * archives there are to link with differs, too: drivers/meson.build looks.
 */
#ifndef DRIVERS_EAL_RELEASE_H
#define DRIVERS_EAL_RELEASE_H

#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define RTE_TEL_UINT_VAL RTE_TEL_U64_VAL
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

#endif
