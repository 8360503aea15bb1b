/* values.h - the values of all settings of uroce-testpmd */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_VALUES_H
#define APP_TESTPMD_VALUES_H

#include <stdint.h>

#include <uroce/uroce.h>

#define SETTINGS_PORTS 2
#define SETTINGS_TEXT_BYTES 256
#define SETTINGS_OPS UROCE_WR_OPCODES

struct settings_port {
	char device[SETTINGS_TEXT_BYTES];                                   /* empty: not given */
	char addresses[UROCE_ADDRS_MAX][64], gateways[UROCE_ADDRS_MAX][64]; /* an empty gateway: none */
	uint32_t address_count;
	struct uroce_vlan vlan; /* for all its addresses */
	uint32_t mtu;           /* 0: the device's default */
	uint32_t no_dad;        /* 0 or 1 */
};

struct settings {
	struct settings_port ports[SETTINGS_PORTS];
	uint32_t port_count; /* 0: two loop ports */
	uint32_t nb_cores, idle, cc, sack_window, limit_qps, limit_mrs;
	uint32_t paths, timeout, retry_cnt; /* of each queue pair */
	uint32_t size, qps, depth, burst, mtu, tcp_port;
	uint32_t rxq, txq, rxd, txd, mbuf_size, mbufs; /* 0: the ports' defaults */
	uint32_t pkey, rkey, cq_depth;
	uint32_t verbose;
	double stats_period_s, duration_s; /* 0: no lines; until it is stopped */
	double faults[4];                  /* probabilities of loss, dup, reorder and corrupt */
	uint32_t seed;
	uint32_t interactive, auto_start, target, both, srq, dry_run, no_dad, help; /* 0 or 1 */
	char mix[SETTINGS_TEXT_BYTES];
	char peer[SETTINGS_TEXT_BYTES];
	char cmdline_file[SETTINGS_TEXT_BYTES];
	char config[SETTINGS_TEXT_BYTES];
	char json[SETTINGS_TEXT_BYTES];   /* empty: no file is written */
	char record[SETTINGS_TEXT_BYTES]; /* empty: nothing is recorded */
	char eal_args[SETTINGS_TEXT_BYTES];
	uint32_t weights[SETTINGS_OPS]; /* from mix */
};

#endif
