/* SHA-256 by nettle, as text. */
#include "sha256.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>

_Static_assert(BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) == 44, "length of a digest in base64");

static void digest(const void *data, size_t size, unsigned char d[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx ctx;
	sha256_init(&ctx);
	sha256_update(&ctx, size, data);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, d);
}

static void as_hex(const unsigned char d[SHA256_DIGEST_SIZE], char hex[65])
{
	static const char digit[] = "0123456789abcdef";
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++) {
		hex[2 * i] = digit[d[i] >> 4];
		hex[2 * i + 1] = digit[d[i] & 15];
	}
	hex[64] = '\0';
}

void berth_sha256_hex(const void *data, size_t size, char hex[65])
{
	unsigned char d[SHA256_DIGEST_SIZE];
	digest(data, size, d);
	as_hex(d, hex);
}

static void put(void *what, const void *data, size_t size)
{
	sha256_update(what, size, data);
}

void berth_sha256_told_hex(void (*tell)(void *ctx, berth_sha256_put *put, void *what), void *ctx,
                           char hex[65])
{
	struct sha256_ctx sum;
	unsigned char d[SHA256_DIGEST_SIZE];
	sha256_init(&sum);
	tell(ctx, put, &sum);
	sha256_digest(&sum, SHA256_DIGEST_SIZE, d);
	as_hex(d, hex);
}

void berth_sha256_base64(const void *data, size_t size, char text[45])
{
	unsigned char d[SHA256_DIGEST_SIZE];
	digest(data, size, d);
	base64_encode_raw(text, sizeof d, d);
	text[44] = '\0';
}
