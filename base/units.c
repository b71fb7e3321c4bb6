/* Units of measure behind a number: a table of their names and of their factors to SI units. */
#include "units.h"

static const struct {
	berth_quantity quantity;
	const char *name;
	double factor;
} units[] = {
	{BERTH_SECONDS, "s", 1},
	{BERTH_SECONDS, "ms", 1e-3},
	{BERTH_SECONDS, "us", 1e-6},
	{BERTH_SECONDS, "ns", 1e-9},
	{BERTH_BYTES, "B", 1},
	{BERTH_BYTES, "KB", 1e3},
	{BERTH_BYTES, "MB", 1e6},
	{BERTH_BYTES, "GB", 1e9},
	{BERTH_BYTES, "TB", 1e12},
	{BERTH_BYTES, "KiB", 0x1p10},
	{BERTH_BYTES, "MiB", 0x1p20},
	{BERTH_BYTES, "GiB", 0x1p30},
	{BERTH_BYTES, "TiB", 0x1p40},
	{BERTH_BYTES_PER_S, "B/s", 1},
	{BERTH_BYTES_PER_S, "KB/s", 1e3},
	{BERTH_BYTES_PER_S, "MB/s", 1e6},
	{BERTH_BYTES_PER_S, "GB/s", 1e9},
	{BERTH_BYTES_PER_S, "TB/s", 1e12},
	{BERTH_BYTES_PER_S, "KiB/s", 0x1p10},
	{BERTH_BYTES_PER_S, "MiB/s", 0x1p20},
	{BERTH_BYTES_PER_S, "GiB/s", 0x1p30},
	{BERTH_BYTES_PER_S, "TiB/s", 0x1p40},
	{BERTH_FLOPS_PER_S, "FLOP/s", 1},
	{BERTH_FLOPS_PER_S, "MFLOP/s", 1e6},
	{BERTH_FLOPS_PER_S, "GFLOP/s", 1e9},
	{BERTH_FLOPS_PER_S, "TFLOP/s", 1e12},
	{BERTH_FLOPS_PER_S, "PFLOP/s", 1e15},
	{BERTH_WATTS, "W", 1},
	{BERTH_WATTS, "mW", 1e-3},
	{BERTH_WATTS, "kW", 1e3},
	{BERTH_JOULES, "J", 1},
	{BERTH_JOULES, "mJ", 1e-3},
	{BERTH_JOULES, "kJ", 1e3},
	{BERTH_JOULES_PER_BYTE, "J/B", 1},
	{BERTH_JOULES_PER_BYTE, "nJ/B", 1e-9},
	{BERTH_JOULES_PER_BYTE, "pJ/B", 1e-12},
};
enum { N_UNITS = sizeof units / sizeof *units };

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

double berth_unit(berth_quantity q, const char *text, const char **end)
{
	size_t n = 0;
	while (is_letter(text[n]) || (n && text[n] == '/'))
		n++;
	if (end)
		*end = text;
	for (int i = 0; n && i < N_UNITS; i++)
		if (units[i].quantity == q && strlen(units[i].name) == n &&
		    strncmp(units[i].name, text, n) == 0) {
			if (end)
				*end = text + n;
			return units[i].factor;
		}
	return n ? 0 : 1;
}

const char *berth_unit_names(berth_quantity q, char buf[96])
{
	size_t len = 0;
	buf[0] = '\0';
	for (int i = 0; i < N_UNITS && len < 96; i++)
		if (units[i].quantity == q)
			len += (size_t)snprintf(buf + len, 96 - len, "%s%s", len ? ", " : "", units[i].name);
	return buf;
}
