/* deaths.c - prints why queue pairs have died, and where the recorder has put their last frames */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/deaths.h"

#include <unistd.h>

#define RECORD_PATIENCE_MS 200

/*
 * The recorder writes a queue pair's files about 10 ms after its death, one after the other if many queue pairs die at
 * once.
 */
static void tell_record(const char *folder, uint32_t qp_num, FILE *out)
{
	char path[SETTINGS_TEXT_BYTES + 64];

	snprintf(path, sizeof(path), "%s/uroce-%d-qp%06x.txt", folder, (int)getpid(), qp_num);
	for (int ms = 0; ms < RECORD_PATIENCE_MS && access(path, R_OK) != 0; ms++)
		usleep(1000);
	if (access(path, R_OK) == 0)
		fprintf(out, "last frames of this QP: %s, and the file of the same name with .pcapng\n", path);
	else
		fprintf(out,
			"the last frames of this QP were not written to %s: the directory is full, or the limit of 256 "
			"records per process is reached\n",
			folder);
}

uint32_t deaths_tell(struct traffic *traffic, FILE *out)
{
	uint32_t dead = 0, asking = 0, asking_dead = 0;
	char line[UROCE_EXPLAIN_BYTES];
	bool news = false;

	pthread_mutex_lock(&traffic->flows_lock);
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
		struct flow *flow = &traffic->flows[i];
		bool is_dead = atomic_load_explicit(&flow->dead, memory_order_acquire);

		dead += is_dead;
		asking += flow->asks;
		asking_dead += flow->asks && is_dead;
		if (!is_dead || flow->told)
			continue;
		flow->told = news = true;
		fprintf(out, "%s\n", uroce_wc_explain(&flow->error, line, sizeof(line)));
		if (traffic->settings->record[0])
			tell_record(traffic->settings->record, uroce_qp_num(flow->qp), out);
	}
	pthread_mutex_unlock(&traffic->flows_lock);
	if (news && asking && asking_dead == asking)
		fprintf(out, "all %u sending queue pairs are in ERR: traffic has stopped\n", asking);
	return dead;
}
