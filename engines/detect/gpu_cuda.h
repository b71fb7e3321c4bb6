/* The part of NVIDIA's CUDA driver interface that is called, declared anew from its public documentation
 * (CUDA Driver API, docs.nvidia.com/cuda/cuda-driver-api). Names of functions are those of the library; a
 * suffix _v2 is part of them. Inside the folder only. */
#ifndef BERTH_GPU_CUDA_H
#define BERTH_GPU_CUDA_H

#include <stddef.h>

enum {
	CUDA_OK = 0,
	CUDA_NO_DEVICE = 100,
	/* cuDeviceGetAttribute */
	CUDA_CLOCK_KHZ = 13,
	CUDA_MULTIPROCESSORS = 16,
	CUDA_INTEGRATED = 18,
	CUDA_PCI_BUS = 33,
	CUDA_PCI_DEVICE = 34,
	CUDA_MEMORY_CLOCK_KHZ = 36,
	CUDA_BUS_WIDTH_BITS = 37,
	CUDA_PCI_DOMAIN = 50,
	CUDA_CAPABILITY_MAJOR = 75,
	CUDA_CAPABILITY_MINOR = 76
};

typedef int cuda_device;
typedef struct cuda_context_object *cuda_context;
typedef unsigned long long cuda_pointer;

typedef struct cuda_uuid {
	unsigned char bytes[16];
} cuda_uuid;

/* name, arguments; all return an int, CUDA_OK or what went wrong */
#define CUDA_FUNCTIONS(X)                                                                                    \
	X(cuInit, (unsigned flags))                                                                          \
	X(cuDriverGetVersion, (int *version))                                                                \
	X(cuDeviceGetCount, (int *n))                                                                        \
	X(cuDeviceGet, (cuda_device * device, int index))                                                    \
	X(cuDeviceGetName, (char *name, int size, cuda_device device))                                       \
	X(cuDeviceGetUuid, (cuda_uuid * uuid, cuda_device device))                                           \
	X(cuDeviceTotalMem_v2, (size_t * bytes, cuda_device device))                                         \
	X(cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))                             \
	X(cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))                            \
	X(cuCtxSetCurrent, (cuda_context context))                                                           \
	X(cuCtxSynchronize, (void))                                                                          \
	X(cuMemAlloc_v2, (cuda_pointer * p, size_t bytes))                                                   \
	X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                          \
	X(cuMemsetD8_v2, (cuda_pointer p, unsigned char value, size_t bytes))                                \
	X(cuMemcpyHtoD_v2, (cuda_pointer to, const void *from, size_t bytes))                                \
	X(cuMemcpyDtoH_v2, (void *to, cuda_pointer from, size_t bytes))                                      \
	X(cuMemcpyDtoD_v2, (cuda_pointer to, cuda_pointer from, size_t bytes))                               \
	X(cuMemcpyPeer, (cuda_pointer to, cuda_context to_context, cuda_pointer from,                        \
	                 cuda_context from_context, size_t bytes))

#endif
