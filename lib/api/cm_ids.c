/* cm_ids.c - creates ids of connections, and destroys those that do not listen */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <uroce/ud.h>

#include "api/cm_id.h"
#include "engine/log.h"
#include "engine/mailbox.h"

struct uroce_cm_id *api_cm_make_id(struct uroce_cm_channel *channel, uint64_t context)
{
	struct uroce_cm_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->channel = channel;
	id->context = context;
	id->connection = CM_NONE;
	atomic_fetch_add(&channel->ids, 1);
	return id;
}

int uroce_cm_id_create(struct uroce_cm_channel *channel, uint64_t context, struct uroce_cm_id **id)
{
	*id = api_cm_make_id(channel, context);
	return *id ? 0 : engine_refuse(-ENOMEM, "no memory for a connection id");
}

int uroce_cm_id_create_ud(struct uroce_cm_channel *channel, uint64_t context, struct uroce_cm_id **id)
{
	int error = uroce_cm_id_create(channel, context, id);

	if (error == 0)
		(*id)->datagrams = true;
	return error;
}

void api_cm_drop(struct uroce_cm_id *id)
{
	api_cm_unbind(id);
	api_cm_leave_channel(id);
	free(id);
}

static int forget_on_owner(void *argument)
{
	engine_connect_forget(argument);
	return 0;
}

int api_cm_end(struct uroce_cm_id *id)
{
	int error = id->lcore ? engine_mailbox_call(id->lcore, forget_on_owner, id) : 0;

	if (error == 0)
		api_cm_drop(id);
	return error;
}
