/* log.h - messages of the library, which never prints */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: any thread may call at any time; each has a last error of its own. */
#ifndef UROCE_LOG_H
#define UROCE_LOG_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_log_level {
	UROCE_LOG_ERROR,   /* something has failed: a CQ overflowed, events were lost */
	UROCE_LOG_WARNING, /* the machine or the network needs attention, and nothing else tells why: print these */
	UROCE_LOG_INFO     /* refused calls, events, devices that come and go */
};

/* text is one line without a newline, valid until the callback returns. */
typedef void uroce_log_callback(void *context, enum uroce_log_level level, const char *text);

/*
 * Sets the callback of the process for messages; with NULL there is no callback. It is called by the thread on which
 * something happens, which may poll lcores, but by one thread at a time. It must return soon, and call nothing of the
 * library. When this function returns, the earlier callback is not called any more.
 */
UROCE_API void uroce_log_set(uroce_log_callback *callback, void *context);

/*
 * Returns why the last failed call of the calling thread failed, or "" if no call has failed. The text says what is
 * wrong, which value it has, and which values are allowed or what to do, such as "max_send_wr 0: 1 ... 32768". Each
 * call that returns a negative errno sets the text, and it is valid until the thread's next failed call. Two kinds of
 * calls do not set it: calls that take a struct uroce_error (port.h, capture.h) write the reason there, and
 * uroce_telemetry_show() gives no reason beyond its code.
 */
UROCE_API const char *uroce_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
