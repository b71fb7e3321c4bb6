/* SHA-256 by nettle, as hexadecimal text. */
#include "sha256.h"

#include <nettle/sha2.h>

void berth_sha256_hex(const void *data, size_t size, char hex[65])
{
	static const char digit[] = "0123456789abcdef";
	struct sha256_ctx ctx;
	unsigned char d[SHA256_DIGEST_SIZE];
	sha256_init(&ctx);
	sha256_update(&ctx, size, data);
	sha256_digest(&ctx, sizeof d, d);
	for (size_t i = 0; i < sizeof d; i++) {
		hex[2 * i] = digit[d[i] >> 4];
		hex[2 * i + 1] = digit[d[i] & 15];
	}
	hex[64] = '\0';
}
