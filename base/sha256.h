/* SHA-256 (FIPS 180-4), by nettle. */
#ifndef BERTH_SHA256_H
#define BERTH_SHA256_H

#include <stddef.h>

/* Lower-case hexadecimal digest of data[size] and a closing 0. */
void berth_sha256_hex(const void *data, size_t size, char hex[65]);

/* Base64 of the digest and a closing 0, as pages name their scripts. */
void berth_sha256_base64(const void *data, size_t size, char text[45]);

#endif
