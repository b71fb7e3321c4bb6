/* libvulkan.so.1: the GeForce of fake_cuda.c ("pair": both); with "radeon" a Radeon RX 6800 XT, a card of
 * datasheets; with "apu" an integrated GPU that no table knows. Structures are laid out by offsets, as an ABI
 * tells them. */
#include "fake.h"

#include <stdint.h>
#include <stdio.h>

VISIBLE int vkCreateInstance(const void *info, const void *allocator, void **instance);
VISIBLE int vkEnumeratePhysicalDevices(void *instance, uint32_t *n, void **devices);
VISIBLE void vkGetPhysicalDeviceProperties(const void *device, char *out);
VISIBLE void vkGetPhysicalDeviceProperties2(const void *device, char *out);
VISIBLE void vkGetPhysicalDeviceMemoryProperties(const void *device, char *out);
VISIBLE int vkEnumerateDeviceExtensionProperties(const void *device, const char *layer, uint32_t *n,
                                                 char *out);

enum { INTEGRATED = 1, DISCRETE = 2, BROKEN = -3, NO_DRIVER = -9 };

typedef struct fake_device {
	const char *name;
	int32_t kind;
	uint32_t bus;
	unsigned char uuid;
	uint64_t bytes;
} fake_device;

static const fake_device known[] = {
	{"NVIDIA GeForce RTX 3070", DISCRETE, 1, 0x30, 64 << 20},
	{"NVIDIA GeForce RTX 3070", DISCRETE, 2, 0x31, 64 << 20},
	{"AMD Radeon RX 6800 XT (RADV NAVI21)", DISCRETE, 3, 0x40, 17163091968},
	{"AMD Radeon Graphics (RADV RENOIR)", INTEGRATED, 5, 0x50, 2147483648},
};

static void put32(char *at, uint32_t value)
{
	memcpy(at, &value, sizeof value);
}

int vkCreateInstance(const void *info, const void *allocator, void **instance)
{
	static char it;
	(void)allocator;
	misbehave();
	*instance = &it;
	return !info || fake("broken") ? BROKEN : fake("driverless") ? NO_DRIVER : 0;
}

int vkEnumeratePhysicalDevices(void *instance, uint32_t *n, void **devices)
{
	const bool has[] = {!fake("none"), fake("pair"), fake("radeon"), fake("apu")};
	uint32_t room = *n;
	*n = 0;
	for (size_t i = 0; i < sizeof has / sizeof *has && *n < room; i++)
		if (has[i])
			devices[(*n)++] = (void *)(uintptr_t)&known[i];
	return instance ? 0 : BROKEN;
}

void vkGetPhysicalDeviceProperties(const void *device, char *out)
{
	const fake_device *d = device;
	memset(out, 0, 824);
	put32(out, 1u << 22 | 3u << 12);
	put32(out + 16, (uint32_t)d->kind);
	snprintf(out + 20, 256, "%s", d->name);
}

void vkGetPhysicalDeviceProperties2(const void *device, char *out)
{
	const fake_device *d = device;
	for (char *at = out; at; memcpy(&at, at + 8, sizeof at)) {
		int32_t type;
		memcpy(&type, at, sizeof type);
		if (type == 1000059001)
			vkGetPhysicalDeviceProperties(device, at + 16);
		else if (type == 1000071004)
			memset(at + 16, d->uuid, 16);
		else if (type == 1000212000)
			put32(at + 20, d->bus); /* domain, bus, device, function */
		else if (type == 1000196000)
			snprintf(at + 20, 256, "fake driver");
		else
			abort();
	}
}

void vkGetPhysicalDeviceMemoryProperties(const void *device, char *out)
{
	const fake_device *d = device;
	const uint64_t cpu = 1 << 30, window = 32 << 20; /* a part of it once more */
	memset(out, 0, 520);
	put32(out + 260, 3);
	memcpy(out + 264, &d->bytes, sizeof d->bytes);
	put32(out + 272, 1); /* local to the device */
	memcpy(out + 280, &cpu, sizeof cpu);
	memcpy(out + 296, &window, sizeof window);
	put32(out + 304, 1);
}

int vkEnumerateDeviceExtensionProperties(const void *device, const char *layer, uint32_t *n, char *out)
{
	static const char *const names[] = {"VK_KHR_driver_properties", "VK_EXT_pci_bus_info"};
	(void)device;
	(void)layer;
	for (uint32_t i = 0; out && i < 2 && i < *n; i++)
		snprintf(out + 260 * i, 256, "%s", names[i]);
	*n = fake("placeless") ? 1 : 2;
	return 0;
}
