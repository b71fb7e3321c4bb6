/* What stands in this machine: the kernel's word on PCI devices (links, NUMA nodes, displays that no library
 * tells of) and on the memory of a container, cores as measured, GPUs as their libraries tell. */
#include "machine.h"
#include "text.h"

#include <dirent.h>
#include <stdarg.h>

/* ---- devices on the PCI bus ---- */

/* The number that a file begins with, in that base (10: perhaps with a point); -1: it does not. */
static double read_number(int base, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* "0x10de", as the kernel writes it. */
static double hex_number(const char *text, const char **end)
{
	char *behind;
	double x = (double)strtol(text, &behind, 16);
	*end = behind;
	return x;
}

static double read_number(int base, const char *fmt, ...)
{
	char path[512], line[64] = "";
	const char *end = line;
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(path, sizeof path, fmt, args);
	va_end(args);
	FILE *f = len < (int)sizeof path ? fopen(path, "r") : NULL;
	double x = -1;
	if (f && fgets(line, sizeof line, f))
		x = base == 10 ? berth_text_number(line, &end) : hex_number(line, &end);
	if (f)
		fclose(f);
	return end == line ? -1 : x;
}

static double device_number(const char *sysfs, const char *device, const char *file, int base)
{
	return read_number(base, "%s/bus/pci/devices/%s/%s", sysfs, device, file);
}

static void name_of(const berth_pci *pci, char name[48])
{
	snprintf(name, 48, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, pci->function);
}

berth_figure berth_pcie_bandwidth(const char *sysfs, const berth_pci *pci)
{
	char name[48];
	name_of(pci, name);
	double width = pci->known ? device_number(sysfs, name, "current_link_width", 10) : -1;
	double speed = pci->known ? device_number(sysfs, name, "max_link_speed", 10) : -1;
	double port = pci->known ? device_number(sysfs, name, "../max_link_speed", 10) : -1;
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
	double node = pci->known ? device_number(sysfs, name, "numa_node", 10) : -1;
	return node >= 0 && node < 1 << 20 ? (int32_t)node : -1;
}

/* Display controllers, and AMD's accelerators (class "processing accelerator"). */
static bool is_gpu(const char *sysfs, const char *device, long *vendor, long *id)
{
	long class = (long)device_number(sysfs, device, "class", 16) >> 16;
	*vendor = (long)device_number(sysfs, device, "vendor", 16);
	*id = (long)device_number(sysfs, device, "device", 16);
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

/* ---- the memory that a container may use ---- */

void berth_cpu_nodes_limit(berth_cpu_nodes *nodes, const char *sysfs)
{
	berth_cpu_node *node = &nodes->node[0];
	/* "max": no number */
	double told = read_number(10, "%s/fs/cgroup/memory.max", sysfs);
	if (told <= 0)
		told = read_number(10, "%s/fs/cgroup/memory/memory.limit_in_bytes", sysfs);
	int64_t limit = told < 0x1p62 ? (int64_t)told : INT64_MAX;
	if (nodes->n != 1 || limit <= 0 || (node->memory_bytes > 0 && limit >= node->memory_bytes))
		return;
	if (node->memory_bytes == 0 && limit > (int64_t)1 << 50) /* version 1 writes "none" as a great number
	                                                          */
		return;
	node->memory_bytes = limit;
	node->limited = true;
}

/* ---- all of it ---- */

static const char sysfs[] = "/sys";

static berth_cpu_team team_of(const berth_cpu_nodes *cpus, int32_t node)
{
	const berth_cpu_node *n = &cpus->node[node];
	return (berth_cpu_team){&cpus->core[n->first_core], n->n_cores, n->cache_bytes, n->memory_bytes};
}

berth_status berth_machine_find_cores(berth_cpu_nodes *cpus, int32_t *n, berth_cpu_figures *out,
                                      berth_figure *latency, berth_err *err)
{
	berth_figure unused;
	int32_t all = 0;
	BERTH_TRY(berth_cpu_nodes_find(cpus, err));
	berth_cpu_nodes_limit(cpus, sysfs);
	for (int32_t i = 0; i < cpus->n; i++)
		all += cpus->node[i].n_cores;
	*n = *n < 1 || *n > all ? all : *n;
	berth_cpu_team team = team_of(cpus, 0), one = team, other = team;
	team.n_cores = *n;
	one.n_cores = other.n_cores = 1;
	if (all > 1)
		other.core++;
	BERTH_TRY(berth_cpu_measure(&team, out, err));
	return berth_cpu_measure_link(&one, &other, &unused, latency, err);
}

static berth_status find_cpus(berth_arena *mem, berth_machine *m, berth_err *err)
{
	int32_t n = m->cpus.n;
	BERTH_TRY_NEW(mem, n * n, err, m->node_bandwidth, m->node_latency);
	for (int32_t i = 0; i < n; i++) {
		berth_cpu_team to = team_of(&m->cpus, i);
		BERTH_TRY(berth_cpu_measure(&to, &m->node[i], err));
		for (int32_t k = 0; k < n; k++) {
			berth_figure *bandwidth = &m->node_bandwidth[k * n + i];
			berth_figure *latency = &m->node_latency[k * n + i];
			berth_cpu_team from = team_of(&m->cpus, k);
			*bandwidth = *latency = berth_figure_missing("");
			if (i != k)
				BERTH_TRY(berth_cpu_measure_link(&from, &to, bandwidth, latency, err));
		}
	}
	return BERTH_OK;
}

berth_status berth_machine_find(const berth_gpu_cfg *gpu, berth_arena *mem, berth_machine **out,
                                berth_err *err)
{
	berth_machine *m;
	BERTH_TRY_NEW(mem, 1, err, m);
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		BERTH_TRY(berth_gpu_ask(gpu, (berth_gpu_library)l, &m->answer[l], err));
	berth_gpus_merge(m->answer, &m->gpus, &m->dropped);
	BERTH_TRY(berth_gpus_look_up(&m->gpus, mem, err));
	for (int32_t i = 0; i < m->gpus.n; i++) {
		m->pcie[i] = berth_pcie_bandwidth(sysfs, &m->gpus.gpu[i].pci);
		m->gpu_node[i] = berth_pcie_node(sysfs, &m->gpus.gpu[i].pci);
	}
	m->n_untold = berth_pcie_untold(sysfs, &m->gpus, BERTH_MAX_UNTOLD, m->untold);
	BERTH_TRY(berth_cpu_nodes_find(&m->cpus, err));
	berth_cpu_nodes_limit(&m->cpus, sysfs);
	BERTH_TRY(find_cpus(mem, m, err));
	*out = m;
	return BERTH_OK;
}
