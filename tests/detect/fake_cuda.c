/* libcuda.so.1: one GPU like a GeForce RTX 3070, at 0000:01:00.0; "pair": two of them; "tegra": an integrated
 * one. "full": it has no memory left. */
#include "fake.h"

#include <stdio.h>

VISIBLE int cuInit(unsigned flags);
VISIBLE int cuDriverGetVersion(int *version);
VISIBLE int cuDeviceGetCount(int *n);
VISIBLE int cuDeviceGet(int *device, int index);
VISIBLE int cuDeviceGetName(char *name, int size, int device);
VISIBLE int cuDeviceGetUuid(unsigned char uuid[16], int device);
VISIBLE int cuDeviceTotalMem_v2(size_t *bytes, int device);
VISIBLE int cuDeviceGetAttribute(int *value, int attribute, int device);
VISIBLE int cuDevicePrimaryCtxRetain(void **context, int device);
VISIBLE int cuCtxSetCurrent(void *context);
VISIBLE int cuCtxSynchronize(void);
VISIBLE int cuMemAlloc_v2(unsigned long long *p, size_t bytes);
VISIBLE int cuMemHostAlloc(void **p, size_t bytes, unsigned flags);
VISIBLE int cuMemsetD8_v2(unsigned long long p, unsigned char value, size_t bytes);
VISIBLE int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
VISIBLE int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
VISIBLE int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes);
VISIBLE int cuMemcpyPeer(unsigned long long to, void *to_context, unsigned long long from, void *from_context,
                         size_t bytes);

enum { INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, UNKNOWN = 999 };

int cuInit(unsigned flags)
{
	misbehave();
	printf("a driver that prints\n");
	fflush(stdout);
	return flags ? INVALID : fake("broken") ? UNKNOWN : fake("none") ? NO_DEVICE : 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 12040;
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = fake("crowd") ? 100 : fake("pair") ? 2 : 1;
	return 0;
}

int cuDeviceGet(int *device, int index)
{
	*device = index;
	return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
	static const char hostile[] = "\033]0;owned\007 <script>\n\xff\xc2\x9b"
				      "2J \"gpu\"  ";
	(void)device;
	if (fake("hostile"))
		snprintf(name, (size_t)size, "%s", hostile);
	else if (fake("endless"))
		memset(name, 'x', (size_t)size);
	else
		snprintf(name, (size_t)size, fake("tegra") ? "Orin" : "NVIDIA GeForce RTX 3070");
	return 0;
}

int cuDeviceGetUuid(unsigned char uuid[16], int device)
{
	memset(uuid, 0x30 + device, 16);
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = fake("absurd") ? (size_t)-1 : (size_t)64 << 20;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value, absurd;
	} list[] = {{13, 1725000, -5}, {16, 46, 2147483647}, {18, 0, 0}, {33, 1, 1}, {34, 0, 0},
	            {36, 7001000, 0},  {37, 256, -256},      {50, 0, 0}, {75, 8, 8}, {76, 6, 6}};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i].attribute == attribute) {
			*value = fake("absurd") ? list[i].absurd : list[i].value;
			if (attribute == 33)
				*value += device;
			if (attribute == 18)
				*value = fake("tegra");
			if (attribute == 75 && fake("future"))
				*value = 42;
			return 0;
		}
	return INVALID;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static char of[100];
	*context = &of[device];
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	return context ? 0 : INVALID;
}

int cuCtxSynchronize(void)
{
	return 0;
}

/* Its memory is the CPU's here. */
int cuMemAlloc_v2(unsigned long long *p, size_t bytes)
{
	if (fake("crash-late"))
		abort();
	void *memory = fake("full") ? NULL : calloc(1, bytes);
	*p = (unsigned long long)(size_t)memory;
	return memory ? 0 : NO_MEMORY;
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
	(void)flags;
	*p = calloc(1, bytes);
	return *p ? 0 : NO_MEMORY;
}

int cuMemsetD8_v2(unsigned long long p, unsigned char value, size_t bytes)
{
	memset((void *)(size_t)p, value, bytes);
	return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	memcpy((void *)(size_t)to, from, bytes);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	memcpy(to, (const void *)(size_t)from, bytes);
	return 0;
}

int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes)
{
	memcpy((void *)(size_t)to, (const void *)(size_t)from, bytes);
	return 0;
}

int cuMemcpyPeer(unsigned long long to, void *to_context, unsigned long long from, void *from_context,
                 size_t bytes)
{
	return to_context && from_context ? cuMemcpyDtoD_v2(to, from, bytes) : INVALID;
}
