/* release.h - differences between the DPDK releases of Debian 12, 13 and sid */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code is written for the newest release; for an older one this header defines its names. drivers/meson.build finds
 * out which archives of DPDK there are to link with.
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
