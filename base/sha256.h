/* SHA-256 (FIPS 180-4), by nettle. */
#pragma once

#include <stddef.h>

/* Lower-case hexadecimal digest of data[size] and a closing 0. */
void berth_sha256_hex(const void *data, size_t size, char hex[65]);

/* The same of what comes in parts: tell hands each of them to put, with what. */
typedef void berth_sha256_put(void *what, const void *data, size_t size);
void berth_sha256_told_hex(void (*tell)(void *ctx, berth_sha256_put *put, void *what), void *ctx,
                           char hex[65]);

/* Base64 of the digest and a closing 0, as pages name their scripts. */
void berth_sha256_base64(const void *data, size_t size, char text[45]);
