/* linked.c - completion channels in programs that the provider is linked into */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does what preload.c does, but by the linker's --wrap, which uroce-verbs.pc asks for. This works with a shared
 * libibverbs, and also with a static one, where a second function of the same name would be an error.
 */
#include "verbs/channel.h"

struct ibv_comp_channel *__real_ibv_create_comp_channel(struct ibv_context *context);
struct ibv_comp_channel *__wrap_ibv_create_comp_channel(struct ibv_context *context);

__attribute__((visibility("default"))) struct ibv_comp_channel *__wrap_ibv_create_comp_channel(
	struct ibv_context *context)
{
	return channel_is_ours(context) ? channel_create(context) : __real_ibv_create_comp_channel(context);
}
