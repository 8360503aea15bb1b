/* names.h - names of the numbers in messages of connection management */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_NAMES_H
#define CM_NAMES_H

#include <stdint.h>

/* "invalid_service_id" for REJ 8; never NULL. 34 reasons have names. */
const char *cm_names_reason(uint16_t reason);
/* The message that a REJ or MRA is about: "REQ", "REP", "LAP", "none"; never NULL. */
const char *cm_names_answered(uint8_t kind, uint8_t answered);
/* "loaded" for APR 0, never NULL. */
const char *cm_names_apr_status(uint8_t status);
/* "valid" for SIDR_REP 0, never NULL. */
const char *cm_names_sidr_status(uint8_t status);

#endif
