/* log.h - what the library has to say: it never prints */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_LOG_H
#define UROCE_LOG_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_log_level {
	UROCE_LOG_ERROR,   /* something has failed: a CQ overflowed, events were lost */
	UROCE_LOG_WARNING, /* a call was refused, a QP or a link went down, somebody may be guessing */
	UROCE_LOG_INFO     /* devices come and go, links come up, paths change */
};

/* text is one line without a newline, and is gone when the callback returns. */
typedef void uroce_log_callback(void *context, enum uroce_log_level level, const char *text);

/*
 * From now on the callback is called with what happens, NULL: none is. For the whole process. It is called by whatever
 * thread something happens on, also by those that poll lcores, one at a time; it returns soon and calls nothing of the
 * library. When this returns, the callback of before is not called any more.
 */
UROCE_API void uroce_log_set(uroce_log_callback *callback, void *context);

/*
 * Why the last call of the calling thread that has failed did so: after any negative errno, what is to blame, its value
 * and what it may be or what to do, such as "max_send_wr 0: 1 ... 32768"; "" before. Calls with a struct uroce_error
 * say it there (port.h, capture.h), and uroce_telemetry_show() by its code. Valid until the thread's next such call.
 */
UROCE_API const char *uroce_refusal(void);

#ifdef __cplusplus
}
#endif
#endif
