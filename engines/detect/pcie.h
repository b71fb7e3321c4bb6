/* What the kernel tells of devices on the PCI bus: links, NUMA nodes, displays that no library tells of.
 * sysfs is where that stands: "/sys". */
#ifndef BERTH_PCIE_H
#define BERTH_PCIE_H

#include "gpu.h"

/* Bytes a second that a device's link carries one way: width x speed x what its encoding leaves (8b/10b up to
 * 5 GT/s, 128b/130b up to 32 GT/s, 236 of 256 bytes at 64 GT/s; PCI Express Base Specification 6.0). The
 * speed is the greatest that the device and its port have, for an idle GPU slows its link down; the width is
 * the one that is there. Headers of packets are not counted. */
berth_figure berth_pcie_bandwidth(const char *sysfs, const berth_pci *pci);

/* The NUMA node next to it; -1: not said. */
int32_t berth_pcie_node(const char *sysfs, const berth_pci *pci);

/* GPUs of NVIDIA, AMD and Intel that stand on the bus, but in no library's answer: "0000:01:00.0 (10de:2204)"
 * into text[most][40]. Returns how many. */
int32_t berth_pcie_untold(const char *sysfs, const berth_gpus *told, int32_t most, char text[][40]);

#endif
