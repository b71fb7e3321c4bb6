/* Numbers of 1, 4 or 8 bytes as their bits, whatever their type is. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t berth_bits_of(const void *x, size_t width)
{
	uint64_t bits = 0;
	uint32_t four;
	if (width == sizeof bits) {
		memcpy(&bits, x, sizeof bits);
	} else if (width == sizeof four) {
		memcpy(&four, x, sizeof four);
		bits = four;
	} else {
		bits = *(const unsigned char *)x;
	}
	return bits;
}

static inline void berth_bits_put(uint64_t bits, void *x, size_t width)
{
	uint32_t four = (uint32_t)bits;
	if (width == sizeof bits)
		memcpy(x, &bits, sizeof bits);
	else if (width == sizeof four)
		memcpy(x, &four, sizeof four);
	else
		*(unsigned char *)x = (unsigned char)bits;
}
