/* GPUs by Vulkan's loader: the part of its interface that is called, declared anew from the public
 * specification (registry.khronos.org/vulkan, version 1.1; VK_EXT_pci_bus_info; VK_KHR_driver_properties),
 * and what it tells. It tells neither compute units nor clocks, and nothing is measured by it. */
#include "gpu_ask.h"

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

#define FIELD(type, name, arguments) type(*name) arguments;
#define NAME(type, name, arguments) #name,

typedef struct vulkan_functions {
	VULKAN_FUNCTIONS(FIELD)
} vulkan_functions;
static const char *const names[] = {VULKAN_FUNCTIONS(NAME)};
enum { N_FUNCTIONS = sizeof names / sizeof *names };

typedef struct extensions {
	bool pci, driver;
} extensions;

static extensions extensions_of(const vulkan_functions *vk, vulkan_device dev)
{
	extensions e = {false, false};
	uint32_t n = 0;
	if (vk->vkEnumerateDeviceExtensionProperties(dev, NULL, &n, NULL) != VULKAN_OK || n > 100000)
		return e;
	vulkan_extension *list = calloc(n + 1, sizeof *list);
	if (list && vk->vkEnumerateDeviceExtensionProperties(dev, NULL, &n, list) == VULKAN_OK)
		for (uint32_t i = 0; i < n; i++) {
			e.pci |= strncmp(list[i].name, "VK_EXT_pci_bus_info", sizeof list[i].name) == 0;
			e.driver |=
				strncmp(list[i].name, "VK_KHR_driver_properties", sizeof list[i].name) == 0;
		}
	free(list);
	return e;
}

static berth_gpu_nature nature_of(int32_t kind)
{
	switch (kind) {
	case VULKAN_INTEGRATED_GPU:
		return BERTH_GPU_INTEGRATED;
	case VULKAN_DISCRETE_GPU:
	case VULKAN_VIRTUAL_GPU:
		return BERTH_GPU_DISCRETE;
	case VULKAN_CPU:
		return BERTH_GPU_SOFTWARE;
	default:
		return BERTH_GPU_UNKNOWN;
	}
}

static void describe(const vulkan_functions *vk, vulkan_device dev, berth_gpu *g)
{
	vulkan_pci_properties pci = {.type = VULKAN_PCI_PROPERTIES};
	vulkan_driver_properties driver = {.type = VULKAN_DRIVER_PROPERTIES};
	vulkan_id_properties id = {.type = VULKAN_ID_PROPERTIES};
	vulkan_properties_2 p = {.type = VULKAN_PROPERTIES_2};
	extensions has = extensions_of(vk, dev);
	char text[sizeof driver.name + sizeof driver.info + 2];
	vk->vkGetPhysicalDeviceProperties(dev, &p.of);
	if (p.of.api_version >= VULKAN_VERSION_1_1) {
		p.next = &id;
		id.next = has.driver ? &driver : NULL;
		driver.next = NULL;
		if (has.pci) {
			pci.next = p.next;
			p.next = &pci;
		}
		vk->vkGetPhysicalDeviceProperties2(dev, &p);
		memcpy(g->uuid, id.device_uuid, sizeof g->uuid);
		g->has_uuid = true;
		g->pci = (berth_pci){has.pci, pci.domain, pci.bus, pci.device, pci.function};
	}
	gpu_text(g->name, sizeof g->name, p.of.name, sizeof p.of.name);
	snprintf(text, sizeof text, "%.255s %.255s", driver.name, driver.info);
	gpu_text(g->driver, sizeof g->driver, text, sizeof text);
	g->nature = nature_of(p.of.kind);
	/* The largest heap that is local to the device. Some drivers show a part of it as another heap once
	 * more; an integrated GPU has its share of the CPU's memory there. */
	vulkan_memory m = {0};
	double bytes = 0;
	vk->vkGetPhysicalDeviceMemoryProperties(dev, &m);
	for (uint32_t i = 0; i < m.n_heaps && i < sizeof m.heaps / sizeof *m.heaps; i++)
		if (m.heaps[i].flags & VULKAN_HEAP_DEVICE_LOCAL && (double)m.heaps[i].bytes > bytes)
			bytes = (double)m.heaps[i].bytes;
	g->figure[BERTH_GPU_MEMORY] = berth_figure_of(bytes, BERTH_LEAST_MEMORY, BERTH_MOST_MEMORY,
	                                              BERTH_ORIGIN_DRIVER, "its largest heap");
	g->figure[BERTH_GPU_PEAK] = g->figure[BERTH_GPU_BANDWIDTH] =
		berth_figure_missing("Vulkan does not tell");
}

void gpu_vulkan_ask(const char *file, bool measure, bool software, berth_gpu_answer *out)
{
	static const vulkan_application_info application = {
		.type = VULKAN_APPLICATION_INFO, .name = "berth", .api_version = VULKAN_VERSION_1_1};
	static const vulkan_instance_info info = {.type = VULKAN_INSTANCE_CREATE_INFO,
	                                          .application = &application};
	vulkan_functions vk;
	vulkan_instance instance = NULL;
	vulkan_device dev[BERTH_MAX_GPUS];
	uint32_t n = BERTH_MAX_GPUS;
	(void)measure, (void)software; /* nothing is timed by it */
	if (!gpu_open(file, names, N_FUNCTIONS, &vk, out))
		return;
	int rc = vk.vkCreateInstance(&info, NULL, &instance);
	if (rc == VULKAN_OK)
		rc = vk.vkEnumeratePhysicalDevices(instance, &n, dev);
	if (rc == VULKAN_INCOMPATIBLE_DRIVER) /* the loader found no driver */
		n = 0;
	else if (rc != VULKAN_OK && rc != VULKAN_INCOMPLETE) {
		gpu_failed(out, "it gives error %d at its start", rc);
		return;
	}
	out->state = BERTH_GPU_ANSWERED;
	for (uint32_t i = 0; i < n && i < BERTH_MAX_GPUS; i++)
		describe(&vk, dev[i], gpu_new(out, BERTH_GPU_VULKAN));
}
