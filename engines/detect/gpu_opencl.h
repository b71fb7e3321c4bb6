/* The part of OpenCL that is called, declared anew from its public specification
 * (registry.khronos.org/OpenCL, version 1.2; cl_khr_pci_bus_info, cl_khr_device_uuid,
 * cl_amd_device_attribute_query). Inside the folder only. */
#ifndef BERTH_GPU_OPENCL_H
#define BERTH_GPU_OPENCL_H

#include <stddef.h>
#include <stdint.h>

enum {
	OPENCL_OK = 0,
	OPENCL_DEVICE_NOT_FOUND = -1,
	OPENCL_PLATFORM_NOT_FOUND = -1001,
	/* clGetDeviceInfo */
	OPENCL_TYPE = 0x1000,
	OPENCL_COMPUTE_UNITS = 0x1002,
	OPENCL_CLOCK_MHZ = 0x100c,
	OPENCL_MOST_ALLOC = 0x1010,
	OPENCL_MEMORY = 0x101f,
	OPENCL_NAME = 0x102b,
	OPENCL_DRIVER = 0x102d,
	OPENCL_EXTENSIONS = 0x1030,
	OPENCL_UNIFIED_MEMORY = 0x1035,
	OPENCL_UUID = 0x106a,
	OPENCL_BOARD_NAME_AMD = 0x4038,
	OPENCL_PCI = 0x410f,
	/* flags */
	OPENCL_TYPE_CPU = 1 << 1,
	OPENCL_TYPE_ANY = -1,
	OPENCL_READ_WRITE = 1,
	OPENCL_HOST_MEMORY = 1 << 4, /* buffers that the CPU reads and writes */
	OPENCL_MAP_BOTH = 3
};

typedef struct opencl_platform_object *opencl_platform;
typedef struct opencl_device_object *opencl_device;
typedef struct opencl_context_object *opencl_context;
typedef struct opencl_queue_object *opencl_queue;
typedef struct opencl_buffer_object *opencl_buffer;
typedef struct opencl_program_object *opencl_program;
typedef struct opencl_kernel_object *opencl_kernel;

typedef struct opencl_pci {
	uint32_t domain, bus, device, function;
} opencl_pci;

/* return type, name, arguments; events are passed as NULL */
#define OPENCL_FUNCTIONS(X)                                                                                  \
	X(int32_t, clGetPlatformIDs, (uint32_t n, opencl_platform * out, uint32_t * found))                  \
	X(int32_t, clGetDeviceIDs,                                                                           \
	  (opencl_platform platform, uint64_t type, uint32_t n, opencl_device * out, uint32_t * found))      \
	X(int32_t, clGetDeviceInfo,                                                                          \
	  (opencl_device dev, uint32_t what, size_t size, void *out, size_t *found))                         \
	X(opencl_context, clCreateContext,                                                                   \
	  (const intptr_t *properties, uint32_t n, const opencl_device *dev, const void *notify, void *ctx,  \
	   int32_t *rc))                                                                                     \
	X(opencl_queue, clCreateCommandQueue,                                                                \
	  (opencl_context context, opencl_device dev, uint64_t flags, int32_t * rc))                         \
	X(opencl_buffer, clCreateBuffer,                                                                     \
	  (opencl_context context, uint64_t flags, size_t bytes, void *host, int32_t *rc))                   \
	X(void *, clEnqueueMapBuffer,                                                                        \
	  (opencl_queue q, opencl_buffer b, uint32_t wait, uint64_t flags, size_t offset, size_t bytes,      \
	   uint32_t n, const void *events, void *event, int32_t *rc))                                        \
	X(int32_t, clEnqueueCopyBuffer,                                                                      \
	  (opencl_queue q, opencl_buffer from, opencl_buffer to, size_t from_offset, size_t to_offset,       \
	   size_t bytes, uint32_t n, const void *events, void *event))                                       \
	X(int32_t, clEnqueueWriteBuffer,                                                                     \
	  (opencl_queue q, opencl_buffer to, uint32_t wait, size_t offset, size_t bytes, const void *from,   \
	   uint32_t n, const void *events, void *event))                                                     \
	X(int32_t, clEnqueueReadBuffer,                                                                      \
	  (opencl_queue q, opencl_buffer from, uint32_t wait, size_t offset, size_t bytes, void *to,         \
	   uint32_t n, const void *events, void *event))                                                     \
	X(int32_t, clFinish, (opencl_queue q))                                                               \
	X(opencl_program, clCreateProgramWithSource,                                                         \
	  (opencl_context context, uint32_t n, const char **text, const size_t *lengths, int32_t *rc))       \
	X(int32_t, clBuildProgram,                                                                           \
	  (opencl_program p, uint32_t n, const opencl_device *dev, const char *options, const void *notify,  \
	   void *ctx))                                                                                       \
	X(opencl_kernel, clCreateKernel, (opencl_program p, const char *name, int32_t *rc))                  \
	X(int32_t, clSetKernelArg, (opencl_kernel k, uint32_t i, size_t size, const void *value))            \
	X(int32_t, clEnqueueNDRangeKernel,                                                                   \
	  (opencl_queue q, opencl_kernel k, uint32_t dimensions, const size_t *offset, const size_t *global, \
	   const size_t *local, uint32_t n, const void *events, void *event))

#endif
