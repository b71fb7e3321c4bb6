/* See pcie.h. */
#include "pcie.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of a device's file; false where there is none. */
static bool read_line(const char *sysfs, const char *device, const char *file, char *buf, int size)
{
	char path[512];
	if (snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s", sysfs, device, file) >= (int)sizeof path)
		return false;
	FILE *f = fopen(path, "r");
	bool got = f && fgets(buf, size, f);
	if (f)
		fclose(f);
	return got;
}

static double read_number(const char *sysfs, const char *device, const char *file, int base)
{
	char line[64], *end;
	if (!read_line(sysfs, device, file, line, sizeof line))
		return -1;
	double x = base == 10 ? strtod(line, &end) : (double)strtol(line, &end, base);
	return end == line ? -1 : x;
}

static void name_of(const berth_pci *pci, char name[48])
{
	snprintf(name, 48, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, pci->function);
}

berth_figure berth_pcie_bandwidth(const char *sysfs, const berth_pci *pci)
{
	char name[48];
	name_of(pci, name);
	double width = pci->known ? read_number(sysfs, name, "current_link_width", 10) : -1;
	double speed = pci->known ? read_number(sysfs, name, "max_link_speed", 10) : -1;
	double port = pci->known ? read_number(sysfs, name, "../max_link_speed", 10) : -1;
	if (!(width >= 1 && width <= 32 && speed >= 2.5 && speed <= 1024))
		return berth_figure_missing("the system tells no PCIe link of it");
	if (port >= 2.5 && port < speed)
		speed = port;
	double left = speed <= 5 ? 0.8 : speed < 64 ? 128.0 / 130 : 236.0 / 256;
	return berth_figure_of(width * speed * left * 1e9 / 8, BERTH_LEAST_BANDWIDTH, BERTH_MOST_BANDWIDTH,
	                       BERTH_ORIGIN_DRIVER, "PCIe, %.0f lanes of %.4g GT/s", width, speed);
}

int32_t berth_pcie_node(const char *sysfs, const berth_pci *pci)
{
	char name[48];
	name_of(pci, name);
	double node = pci->known ? read_number(sysfs, name, "numa_node", 10) : -1;
	return node >= 0 && node < 1 << 20 ? (int32_t)node : -1;
}

/* Display controllers, and AMD's accelerators (class "processing accelerator"). */
static bool is_gpu(const char *sysfs, const char *device, long *vendor, long *id)
{
	long class = (long)read_number(sysfs, device, "class", 16) >> 16;
	*vendor = (long)read_number(sysfs, device, "vendor", 16);
	*id = (long)read_number(sysfs, device, "device", 16);
	bool known = *vendor == 0x10de || *vendor == 0x1002 || *vendor == 0x8086;
	return known && (class == 0x03 || (class == 0x12 && *vendor == 0x1002));
}

static bool is_told(const char *device, const berth_gpus *told)
{
	char name[48];
	for (int32_t i = 0; i < told->n; i++) {
		name_of(&told->gpu[i].pci, name);
		if (told->gpu[i].pci.known && strcmp(name, device) == 0)
			return true;
	}
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

int32_t berth_pcie_untold(const char *sysfs, const berth_gpus *told, int32_t most, char text[][40])
{
	char path[512];
	int32_t n = 0;
	long vendor, id;
	snprintf(path, sizeof path, "%s/bus/pci/devices", sysfs);
	DIR *d = opendir(path);
	for (const struct dirent *e; d && n < most && (e = readdir(d));)
		if (strlen(e->d_name) < 20 && is_gpu(sysfs, e->d_name, &vendor, &id) &&
		    !is_told(e->d_name, told))
			snprintf(text[n++], 40, "%.20s (%04lx:%04lx)", e->d_name, vendor & 0xffff,
			         id & 0xffff);
	if (d)
		closedir(d);
	qsort(text, (size_t)n, sizeof *text, by_text); /* a folder has no order */
	return n;
}
