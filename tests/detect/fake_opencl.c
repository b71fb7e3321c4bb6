/* libOpenCL.so.1: the GeForce of fake_cuda.c under another spelling ("pair": both), with a place on the bus
 * unless "placeless". "deaf": its compiler fails. Kernels take no time, copies are made. */
#include "fake.h"

#include <stdint.h>
#include <stdio.h>

VISIBLE int32_t clGetPlatformIDs(uint32_t n, void **out, uint32_t *found);
VISIBLE int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t n, void **out, uint32_t *found);
VISIBLE int32_t clGetDeviceInfo(const void *dev, uint32_t what, size_t size, void *out, size_t *found);
VISIBLE void *clCreateContext(const void *p, uint32_t n, void **dev, const void *notify, void *ctx,
                              int32_t *rc);
VISIBLE void *clCreateCommandQueue(void *context, void *dev, uint64_t flags, int32_t *rc);
VISIBLE void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int32_t *rc);
VISIBLE void *clEnqueueMapBuffer(void *q, void *b, uint32_t wait, uint64_t flags, size_t offset, size_t bytes,
                                 uint32_t n, const void *events, void *event, int32_t *rc);
VISIBLE int32_t clEnqueueCopyBuffer(void *q, void *from, void *to, size_t a, size_t b, size_t bytes,
                                    uint32_t n, const void *events, void *event);
VISIBLE int32_t clEnqueueWriteBuffer(void *q, void *to, uint32_t wait, size_t offset, size_t bytes,
                                     const void *from, uint32_t n, const void *events, void *event);
VISIBLE int32_t clEnqueueReadBuffer(void *q, const void *from, uint32_t wait, size_t offset, size_t bytes,
                                    void *to, uint32_t n, const void *events, void *event);
VISIBLE int32_t clFinish(void *q);
VISIBLE void *clCreateProgramWithSource(void *c, uint32_t n, const char **text, const size_t *len,
                                        int32_t *rc);
VISIBLE int32_t clBuildProgram(void *p, uint32_t n, void **dev, const char *options, const void *notify,
                               void *ctx);
VISIBLE void *clCreateKernel(void *p, const char *name, int32_t *rc);
VISIBLE int32_t clSetKernelArg(void *k, uint32_t i, size_t size, const void *value);
VISIBLE int32_t clEnqueueNDRangeKernel(void *q, void *k, uint32_t dims, const size_t *offset,
                                       const size_t *global, const size_t *local, uint32_t n,
                                       const void *events, void *event);

enum { BROKEN = -6, NO_DEVICE = -1, NO_VALUE = -30, NO_COMPILER = -3, NO_PLATFORM = -1001 };

static char device[2], thing;

int32_t clGetPlatformIDs(uint32_t n, void **out, uint32_t *found)
{
	misbehave();
	*found = n ? 1 : 0;
	*out = &thing;
	return fake("broken") ? BROKEN : fake("driverless") ? NO_PLATFORM : 0;
}

int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t n, void **out, uint32_t *found)
{
	(void)platform;
	*found = fake("none") ? 0 : fake("pair") ? 2 : 1;
	for (uint32_t i = 0; i < *found && i < n; i++)
		out[i] = &device[i];
	return *found && type ? 0 : NO_DEVICE;
}

static int32_t give(const void *value, size_t n, size_t size, void *out, size_t *found)
{
	if (found)
		*found = n;
	if (out && size < n)
		return NO_VALUE;
	if (out)
		memcpy(out, value, n);
	return 0;
}

int32_t clGetDeviceInfo(const void *dev, uint32_t what, size_t size, void *out, size_t *found)
{
	static const char name[] = "NVIDIA(R) GeForce(TM) RTX 3070", driver[] = "550.54",
			  places[] = "cl_khr_icd cl_khr_pci_bus_info", none[] = "cl_khr_icd";
	const uint32_t pci[] = {0, (uint32_t)((const char *)dev - device) + 1, 0, 0}, no = 0, units = 46,
		       mhz = 1725;
	const uint64_t gpu = 4, memory = 64 << 20, most = 16 << 20;
	switch (what) {
	case 0x1000:
		return give(&gpu, sizeof gpu, size, out, found);
	case 0x1002:
		return give(&units, sizeof units, size, out, found);
	case 0x100c:
		return give(&mhz, sizeof mhz, size, out, found);
	case 0x1010:
		return give(&most, sizeof most, size, out, found);
	case 0x101f:
		return give(&memory, sizeof memory, size, out, found);
	case 0x102b:
		return give(name, sizeof name, size, out, found);
	case 0x102d:
		return give(driver, sizeof driver, size, out, found);
	case 0x1030:
		return fake("placeless") ? give(none, sizeof none, size, out, found)
		                         : give(places, sizeof places, size, out, found);
	case 0x1035:
		return give(&no, sizeof no, size, out, found);
	case 0x410f:
		return give(pci, sizeof pci, size, out, found);
	default:
		return NO_VALUE;
	}
}

void *clCreateContext(const void *p, uint32_t n, void **dev, const void *notify, void *ctx, int32_t *rc)
{
	(void)p, (void)notify, (void)ctx, (void)rc;
	return n && dev ? &thing : NULL;
}

void *clCreateCommandQueue(void *context, void *dev, uint64_t flags, int32_t *rc)
{
	(void)flags, (void)rc;
	return context && dev ? &thing : NULL;
}

void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int32_t *rc)
{
	(void)flags, (void)host, (void)rc;
	return context ? calloc(1, bytes) : NULL;
}

void *clEnqueueMapBuffer(void *q, void *b, uint32_t wait, uint64_t flags, size_t offset, size_t bytes,
                         uint32_t n, const void *events, void *event, int32_t *rc)
{
	(void)q, (void)wait, (void)flags, (void)offset, (void)bytes, (void)n, (void)events, (void)event,
		(void)rc;
	return b;
}

int32_t clEnqueueCopyBuffer(void *q, void *from, void *to, size_t a, size_t b, size_t bytes, uint32_t n,
                            const void *events, void *event)
{
	(void)q, (void)a, (void)b, (void)n, (void)events, (void)event;
	memcpy(to, from, bytes);
	return 0;
}

int32_t clEnqueueWriteBuffer(void *q, void *to, uint32_t wait, size_t offset, size_t bytes, const void *from,
                             uint32_t n, const void *events, void *event)
{
	(void)q, (void)wait, (void)offset, (void)n, (void)events, (void)event;
	memcpy(to, from, bytes);
	return 0;
}

int32_t clEnqueueReadBuffer(void *q, const void *from, uint32_t wait, size_t offset, size_t bytes, void *to,
                            uint32_t n, const void *events, void *event)
{
	(void)q, (void)wait, (void)offset, (void)n, (void)events, (void)event;
	memcpy(to, from, bytes);
	return 0;
}

int32_t clFinish(void *q)
{
	return q ? 0 : BROKEN;
}

void *clCreateProgramWithSource(void *c, uint32_t n, const char **text, const size_t *len, int32_t *rc)
{
	(void)len, (void)rc;
	return c && n && *text ? &thing : NULL;
}

int32_t clBuildProgram(void *p, uint32_t n, void **dev, const char *options, const void *notify, void *ctx)
{
	(void)n, (void)dev, (void)options, (void)notify, (void)ctx;
	return p && !fake("deaf") ? 0 : NO_COMPILER;
}

void *clCreateKernel(void *p, const char *name, int32_t *rc)
{
	(void)rc;
	return p && name ? &thing : NULL;
}

int32_t clSetKernelArg(void *k, uint32_t i, size_t size, const void *value)
{
	return k && value && size && i < 4 ? 0 : BROKEN;
}

int32_t clEnqueueNDRangeKernel(void *q, void *k, uint32_t dims, const size_t *offset, const size_t *global,
                               const size_t *local, uint32_t n, const void *events, void *event)
{
	(void)offset, (void)local, (void)n, (void)events, (void)event;
	return q && k && dims == 1 && *global ? 0 : BROKEN;
}
