/* syndrome.h - the syndrome of an AETH: class in bits 7:5, value in bits 4:0 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_SYNDROME_H
#define WIRE_SYNDROME_H

#include <stdint.h>

enum wire_syndrome_class { SYNDROME_ACK = 0, SYNDROME_RNR_NAK = 1, SYNDROME_NAK = 3 };

/* The values of a NAK that RC knows. */
enum wire_nak_code {
	NAK_PSN_SEQUENCE = 0,
	NAK_INVALID_REQUEST = 1,
	NAK_REMOTE_ACCESS = 2,
	NAK_REMOTE_OPERATIONAL = 3,
	NAK_CODES
};

static inline uint8_t syndrome_make(enum wire_syndrome_class class, uint32_t value)
{
	return (uint8_t)(class << 5 | value);
}

static inline uint32_t syndrome_class(uint8_t syndrome)
{
	return syndrome >> 5;
}

static inline uint32_t syndrome_value(uint8_t syndrome)
{
	return syndrome & 31;
}

#endif
