/* GPUs by Vulkan's loader. It tells neither compute units nor clocks, and nothing is measured by it. */
#include "gpu_vulkan.h"
#include "gpu_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The largest heap that is local to the device. Some drivers show a part of it as another heap once more; an
 * integrated GPU has its share of the CPU's memory there. */
static berth_figure memory_of(const vulkan_functions *vk, vulkan_device dev)
{
	vulkan_memory m = {0};
	double bytes = 0;
	vk->vkGetPhysicalDeviceMemoryProperties(dev, &m);
	for (uint32_t i = 0; i < m.n_heaps && i < sizeof m.heaps / sizeof *m.heaps; i++)
		if (m.heaps[i].flags & VULKAN_HEAP_DEVICE_LOCAL && (double)m.heaps[i].bytes > bytes)
			bytes = (double)m.heaps[i].bytes;
	return berth_figure_of(bytes, BERTH_LEAST_MEMORY, BERTH_MOST_MEMORY, BERTH_ORIGIN_DRIVER,
	                       "its largest heap");
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
	g->figure[BERTH_GPU_MEMORY] = memory_of(vk, dev);
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
	void (*fn[N_FUNCTIONS])(void);
	uint32_t n = BERTH_MAX_GPUS;
	(void)measure, (void)software; /* nothing is timed by it */
	void *library = gpu_open(file, out);
	if (!library || !gpu_functions(library, names, fn, N_FUNCTIONS, out))
		return;
	memcpy(&vk, fn, sizeof vk);
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
