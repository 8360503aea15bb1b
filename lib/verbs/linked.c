/* linked.c - completion channels in programs that the provider is linked into */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As preload.c, by --wrap of the linker, which uroce-verbs.pc asks for: that holds whether libibverbs is linked
 * statically, where a second function of the same name would be one too many, or not.
 */
#include "verbs/channel.h"

struct ibv_comp_channel *__real_ibv_create_comp_channel(struct ibv_context *context);
struct ibv_comp_channel *__wrap_ibv_create_comp_channel(struct ibv_context *context);

__attribute__((visibility("default"))) struct ibv_comp_channel *__wrap_ibv_create_comp_channel(
	struct ibv_context *context)
{
	return channel_is_ours(context) ? channel_create(context) : __real_ibv_create_comp_channel(context);
}
