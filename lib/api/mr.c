/* mr.c - protection domains, memory regions, memory windows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/landing.h"
#include "engine/log.h"
#include "engine/mapping.h"
#include "engine/pd.h"

int uroce_pd_alloc(struct uroce_device *device, struct uroce_pd **result)
{
	struct uroce_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		return engine_refuse(-ENOMEM, "no memory for a protection domain");
	pd->device = device;
	pthread_mutex_lock(&device->engine->lock);
	pd->id = device->next_pd++;
	if (device->next_pd == 0)
		device->next_pd = 1;
	pthread_mutex_unlock(&device->engine->lock);
	atomic_fetch_add(&device->users, 1);
	*result = pd;
	return 0;
}

int uroce_pd_dealloc(struct uroce_pd *pd)
{
	if (atomic_load(&pd->users) > 0)
		return engine_refuse(-EBUSY, "pd: %u regions, windows and queues still use it; destroy them first",
				     (unsigned)atomic_load(&pd->users));
	atomic_fetch_sub(&pd->device->users, 1);
	free(pd);
	return 0;
}

static int refuse_another(const struct uroce_device *device)
{
	return engine_refuse(-ENOMEM, "max_mrs %u: the device already has this number of regions and windows",
			     device->engine->config.max_mrs);
}

static int refuse_range(const void *addr, size_t bytes, uint64_t va, uint32_t access)
{
	return engine_refuse(-EINVAL,
			     "addr %p, bytes %zu, va 0x%lx, access 0x%x: the range must not wrap around, and the "
			     "access flags must be a valid combination",
			     addr, bytes, va, access);
}

/* Is the memory mapped so that lcores can use it with these rights? Returns 0 or -EFAULT. */
static int check_mapping(const void *addr, size_t bytes, uint32_t access)
{
	bool writable = access & (UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC);
	uintptr_t end;

	if (addr == NULL || bytes == 0 || __builtin_add_overflow((uintptr_t)addr, bytes, &end))
		return 0; /* the table refuses such a range */
	if (engine_mapping_check(addr, bytes, writable) == 0)
		return 0;
	if (writable && engine_mapping_check(addr, bytes, false) == 0)
		return engine_refuse(-EFAULT,
				     "addr %p, bytes %zu, access 0x%x: a part of the memory is mapped read-only; "
				     "register it without write access",
				     addr, bytes, access);
	return engine_refuse(-EFAULT, "addr %p, bytes %zu: a part of the memory is not mapped or not readable", addr,
			     bytes);
}

static int refuse_removal(const struct uroce_mr *mr, int error)
{
	if (error == -EBUSY)
		return engine_refuse(error, "mr: memory windows are bound to it; invalidate or deallocate them first");
	return engine_refuse(error, "mr: the region with key 0x%08x no longer exists", mr->key);
}

int uroce_mr_reg(struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **result)
{
	return uroce_mr_reg_at(pd, addr, bytes, access & UROCE_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr, access, result);
}

int uroce_mr_reg_at(struct uroce_pd *pd, void *addr, size_t bytes, uint64_t va, uint32_t access,
		    struct uroce_mr **result)
{
	struct uroce_device *device = pd->device;
	int error = check_mapping(addr, bytes, access);
	struct uroce_mr *mr;

	if (error)
		return error;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return engine_refuse(-ENOMEM, "no memory for a memory region");
	mr->pd = pd;
	pthread_mutex_lock(&device->engine->lock);
	mr->key = rc_mr_insert_at(&device->mrs, pd->id, addr, bytes, va, access, &error);
	pthread_mutex_unlock(&device->engine->lock);
	if (mr->key == 0) {
		free(mr);
		return error == -ENOMEM ? refuse_another(device) : refuse_range(addr, bytes, va, access);
	}
	atomic_fetch_add(&pd->users, 1);
	*result = mr;
	return 0;
}

int uroce_mr_rereg(struct uroce_mr *mr, struct uroce_pd *pd, void *addr, size_t bytes, uint64_t va, uint32_t access)
{
	struct uroce_device *device = mr->pd->device;
	int error;

	if (pd->device != device)
		return engine_refuse(-EINVAL, "pd: it belongs to a different device than the region");
	error = check_mapping(addr, bytes, access);
	if (error)
		return error;
	pthread_mutex_lock(&device->engine->lock);
	error = rc_mr_close(&device->mrs, mr->key, addr, bytes, va, access);
	if (error == 0) {
		rte_rcu_qsbr_synchronize(device->engine->qsbr, RTE_QSBR_THRID_INVALID);
		rc_mr_reopen(&device->mrs, mr->key, pd->id, addr, bytes, va, access);
	}
	pthread_mutex_unlock(&device->engine->lock);
	if (error == -EINVAL)
		return refuse_range(addr, bytes, va, access);
	if (error)
		return refuse_removal(mr, error);
	atomic_fetch_sub(&mr->pd->users, 1);
	atomic_fetch_add(&pd->users, 1);
	mr->pd = pd;
	return 0;
}

int uroce_mr_dereg(struct uroce_mr *mr)
{
	struct uroce_engine *engine = mr->pd->device->engine;
	int error;

	/*
	 * M-2: the lock is held through the grace period, so that nobody reuses the slot while lcores may still read
	 * it.
	 */
	pthread_mutex_lock(&engine->lock);
	error = rc_mr_remove(&mr->pd->device->mrs, mr->key);
	if (error == 0)
		rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_unlock(&engine->lock);
	if (error)
		return refuse_removal(mr, error);
	atomic_fetch_sub(&mr->pd->users, 1);
	free(mr);
	return 0;
}

void uroce_memory_fault(const void *address)
{
	engine_landing_jump(address);
}

uint32_t uroce_mr_lkey(const struct uroce_mr *mr)
{
	return mr->key;
}

uint32_t uroce_mr_rkey(const struct uroce_mr *mr)
{
	return mr->key;
}

int uroce_mw_alloc(struct uroce_pd *pd, enum uroce_mw_type type, struct uroce_mw **result)
{
	struct uroce_device *device = pd->device;
	struct uroce_mw *mw;
	uint32_t key;

	if (type != UROCE_MW_TYPE_1 && type != UROCE_MW_TYPE_2)
		return engine_refuse(-EINVAL, "type %u: use UROCE_MW_TYPE_1 or UROCE_MW_TYPE_2", (unsigned)type);
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return engine_refuse(-ENOMEM, "no memory for a memory window");
	pthread_mutex_lock(&device->engine->lock);
	key = rc_mr_insert_window(&device->mrs, pd->id, type == UROCE_MW_TYPE_1 ? MR_WINDOW_1 : MR_WINDOW_2);
	pthread_mutex_unlock(&device->engine->lock);
	if (key == 0) {
		free(mw);
		return refuse_another(device);
	}
	mw->pd = pd;
	mw->type = type;
	atomic_init(&mw->key, key);
	atomic_fetch_add(&pd->users, 1);
	*result = mw;
	return 0;
}

int uroce_mw_dealloc(struct uroce_mw *mw)
{
	struct uroce_engine *engine = mw->pd->device->engine;

	pthread_mutex_lock(&engine->lock);
	rc_mr_remove_window(&mw->pd->device->mrs, atomic_load(&mw->key));
	rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_unlock(&engine->lock);
	atomic_fetch_sub(&mw->pd->users, 1);
	free(mw);
	return 0;
}

uint32_t uroce_mw_rkey(const struct uroce_mw *mw)
{
	return atomic_load(&mw->key);
}

uint32_t uroce_mw_next_rkey(const struct uroce_mw *mw)
{
	uint32_t key = atomic_load(&mw->key);
	uint32_t next = (key & ~0xFFu) | ((key + 1) & 0xFF);

	return next ? next : 1; /* 0 is not a valid key */
}
