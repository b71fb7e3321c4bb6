/* The part of Vulkan that is called, declared anew from its public specification
 * (registry.khronos.org/vulkan, version 1.1; VK_EXT_pci_bus_info; VK_KHR_driver_properties). Inside the
 * folder only. */
#ifndef BERTH_GPU_VULKAN_H
#define BERTH_GPU_VULKAN_H

#include <stdint.h>

enum {
	VULKAN_OK = 0,
	VULKAN_INCOMPLETE = 5,
	VULKAN_INCOMPATIBLE_DRIVER = -9,
	/* VkStructureType */
	VULKAN_APPLICATION_INFO = 0,
	VULKAN_INSTANCE_CREATE_INFO = 1,
	VULKAN_PROPERTIES_2 = 1000059001,
	VULKAN_ID_PROPERTIES = 1000071004,
	VULKAN_DRIVER_PROPERTIES = 1000196000,
	VULKAN_PCI_PROPERTIES = 1000212000,
	/* VkPhysicalDeviceType */
	VULKAN_INTEGRATED_GPU = 1,
	VULKAN_DISCRETE_GPU = 2,
	VULKAN_VIRTUAL_GPU = 3,
	VULKAN_CPU = 4,
	VULKAN_HEAP_DEVICE_LOCAL = 1,
	VULKAN_VERSION_1_1 = 1 << 22 | 1 << 12
};

typedef struct vulkan_instance_object *vulkan_instance;
typedef struct vulkan_device_object *vulkan_device; /* physical */

typedef struct vulkan_application_info {
	int32_t type;
	const void *next;
	const char *name;
	uint32_t version;
	const char *engine;
	uint32_t engine_version, api_version;
} vulkan_application_info;

typedef struct vulkan_instance_info {
	int32_t type;
	const void *next;
	uint32_t flags;
	const vulkan_application_info *application;
	uint32_t n_layers;
	const char *const *layers;
	uint32_t n_extensions;
	const char *const *extensions;
} vulkan_instance_info;

typedef struct vulkan_properties {
	uint32_t api_version, driver_version, vendor, device;
	int32_t kind;
	char name[256];
	unsigned char cache_uuid[16];
	uint64_t limits[63]; /* VkPhysicalDeviceLimits: 504 bytes that nobody reads here */
	uint32_t sparse[5];
} vulkan_properties;

typedef struct vulkan_properties_2 {
	int32_t type;
	void *next;
	vulkan_properties of;
} vulkan_properties_2;

typedef struct vulkan_id_properties {
	int32_t type;
	void *next;
	unsigned char device_uuid[16], driver_uuid[16], luid[8];
	uint32_t node_mask, has_luid;
} vulkan_id_properties;

typedef struct vulkan_driver_properties {
	int32_t type;
	void *next;
	int32_t id;
	char name[256], info[256];
	uint8_t conformance[4];
} vulkan_driver_properties;

typedef struct vulkan_pci_properties {
	int32_t type;
	void *next;
	uint32_t domain, bus, device, function;
} vulkan_pci_properties;

typedef struct vulkan_memory {
	uint32_t n_types;
	struct {
		uint32_t flags, heap;
	} types[32];
	uint32_t n_heaps;
	struct {
		uint64_t bytes;
		uint32_t flags;
	} heaps[16];
} vulkan_memory;

typedef struct vulkan_extension {
	char name[256];
	uint32_t version;
} vulkan_extension;

/* return type, name, arguments */
#define VULKAN_FUNCTIONS(X)                                                                                  \
	X(int, vkCreateInstance,                                                                             \
	  (const vulkan_instance_info *info, const void *allocator, vulkan_instance *instance))              \
	X(int, vkEnumeratePhysicalDevices,                                                                   \
	  (vulkan_instance instance, uint32_t * n, vulkan_device * devices))                                 \
	X(void, vkGetPhysicalDeviceProperties, (vulkan_device device, vulkan_properties * out))              \
	X(void, vkGetPhysicalDeviceProperties2, (vulkan_device device, vulkan_properties_2 * out))           \
	X(void, vkGetPhysicalDeviceMemoryProperties, (vulkan_device device, vulkan_memory * out))            \
	X(int, vkEnumerateDeviceExtensionProperties,                                                         \
	  (vulkan_device device, const char *layer, uint32_t *n, vulkan_extension *out))

#endif
