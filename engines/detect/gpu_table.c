/* Datasheets of well-known GPUs: what a library that tells no figures (Vulkan) leaves open.
 *
 * A row has the name that drivers give, the memory where a name stands for two cards, single precision
 * without matrix units at the boost clock, the bandwidth of the memory, and the source. Names of documents
 * stand for the vendor's own: NVIDIA's data sheets, architecture white papers and product pages; AMD's
 * product pages ("Peak Single Precision Compute Performance", "Memory Bandwidth"); Valve's tech specs. Intel
 * ARK tells engines, clock and bandwidth: Xe vector engines x 16 x graphics clock.
 *
 * Left out on purpose are names that stand for several clocks or sizes ("UHD Graphics 630", "Iris Xe", "AMD
 * Radeon Graphics"), and boards that a driver shows as two halves. */
#include "gpu_ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct table_row {
	const char *name;
	double memory_gb;    /* 0: any */
	double tflops, gb_s; /* gb_s 0: its memory is the CPU's */
	const char *source;
} table_row;

static const table_row rows[] = {
	{"NVIDIA H100 80GB HBM3", 0, 67, 3350, "NVIDIA H100 data sheet"},
	{"NVIDIA H100 PCIe", 0, 51, 2000, "NVIDIA H100 data sheet"},
	{"NVIDIA A100-SXM4-40GB", 0, 19.5, 1555, "NVIDIA A100 data sheet"},
	{"NVIDIA A100-SXM4-80GB", 0, 19.5, 2039, "NVIDIA A100 data sheet"},
	{"NVIDIA A100-PCIE-40GB", 0, 19.5, 1555, "NVIDIA A100 data sheet"},
	{"NVIDIA A100 80GB PCIe", 0, 19.5, 1935, "NVIDIA A100 data sheet"},
	{"Tesla V100-SXM2-16GB", 0, 15.7, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-SXM2-32GB", 0, 15.7, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-PCIE-16GB", 0, 14, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-PCIE-32GB", 0, 14, 900, "NVIDIA V100 data sheet"},
	{"Tesla T4", 0, 8.1, 320, "NVIDIA T4 data sheet"},
	{"NVIDIA A40", 0, 37.4, 696, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA RTX A6000", 0, 38.7, 768, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3090", 0, 35.6, 936, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3080", 10, 29.8, 760, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3070", 0, 20.3, 448, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 4090", 0, 82.6, 1008, "NVIDIA Ada GPU Architecture"},
	{"NVIDIA GeForce RTX 4080", 16, 48.7, 716.8, "NVIDIA Ada GPU Architecture"},
	{"NVIDIA GeForce RTX 2080 Ti", 0, 13.4, 616, "NVIDIA Turing GPU Architecture"},
	{"NVIDIA GeForce GTX 1080 Ti", 0, 11.3, 484, "NVIDIA product page"},
	{"AMD Radeon RX 7900 XTX", 0, 61.4, 960, "AMD product page"},
	{"AMD Radeon RX 7900 XT", 0, 51.6, 800, "AMD product page"},
	{"AMD Radeon RX 7800 XT", 0, 37.3, 624, "AMD product page"},
	{"AMD Radeon RX 7600", 8, 21.75, 288, "AMD product page"},
	{"AMD Radeon RX 6900 XT", 0, 23.04, 512, "AMD product page"},
	{"AMD Radeon RX 6800 XT", 0, 20.74, 512, "AMD product page"},
	{"AMD Radeon RX 6800", 0, 16.17, 512, "AMD product page"},
	{"AMD Radeon RX 6700 XT", 0, 13.21, 384, "AMD product page"},
	{"AMD Radeon RX 6600 XT", 0, 10.6, 256, "AMD product page"},
	{"AMD Radeon RX 6600", 0, 8.93, 224, "AMD product page"},
	{"AMD Radeon RX 5700 XT", 0, 9.75, 448, "AMD product page"},
	{"AMD Radeon RX Vega 64", 0, 12.66, 483.8, "AMD product page"},
	{"AMD Radeon RX 580", 8, 6.17, 256, "AMD product page"},
	{"AMD Custom GPU 0405", 0, 1.6, 0, "Valve, Steam Deck tech specs"},
	{"Intel Arc A770 Graphics", 16, 17.2, 560, "Intel ARK"},
	{"Intel Arc A750 Graphics", 0, 14.7, 512, "Intel ARK"},
	{"Intel Arc A380 Graphics", 0, 4.1, 186, "Intel ARK"},
};

/* Memory as sold is 10^9 or 2^30 bytes a GB, and drivers keep some of it. */
static bool fits(const table_row *r, const char *plain, double memory_bytes)
{
	char name[128];
	gpu_plain_name(r->name, name);
	return strcmp(name, plain) == 0 &&
	       (r->memory_gb == 0 || fabs(memory_bytes / 1.05e9 / r->memory_gb - 1) < 0.12);
}

static void fill(berth_figure *f, double value, const table_row *r)
{
	if (f->origin == BERTH_ORIGIN_MISSING && value > 0)
		*f = berth_figure_of(value, 0, INFINITY, BERTH_ORIGIN_TABLE, "%s", r->source);
}

void berth_gpus_look_up(berth_gpus *gpus)
{
	char plain[128];
	for (int32_t i = 0; i < gpus->n; i++) {
		berth_gpu *g = &gpus->gpu[i];
		gpu_plain_name(g->name, plain);
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
			if (fits(&rows[k], plain, g->figure[BERTH_GPU_MEMORY].value)) {
				fill(&g->figure[BERTH_GPU_PEAK], rows[k].tflops * 1e12, &rows[k]);
				fill(&g->figure[BERTH_GPU_BANDWIDTH], rows[k].gb_s * 1e9, &rows[k]);
			}
	}
}
