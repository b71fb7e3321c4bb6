/* Units of measure behind a number: a table of their names and of their factors to SI units. */
#include "units.h"

#include "text.h"

/* Of names for one unit the first is listed; a factor that is no power of 1000 is read and never written. */
static const struct {
	berth_quantity quantity;
	const char *name;
	double factor;
} units[] = {
	{BERTH_COUNT, "K", 1e3},
	{BERTH_COUNT, "k", 1e3},
	{BERTH_COUNT, "M", 1e6},
	{BERTH_COUNT, "G", 1e9},
	{BERTH_TOKENS, "k", 0x1p10},
	{BERTH_TOKENS, "K", 0x1p10},
	{BERTH_TOKENS, "M", 0x1p20},
	{BERTH_SECONDS, "s", 1},
	{BERTH_SECONDS, "ms", 1e-3},
	{BERTH_SECONDS, "us", 1e-6},
	{BERTH_SECONDS, "\302\265s", 1e-6},
	{BERTH_SECONDS, "ns", 1e-9},
	{BERTH_SECONDS, "min", 60},
	{BERTH_SECONDS, "h", 3600},
	{BERTH_BYTES, "B", 1},
	{BERTH_BYTES, "KB", 1e3},
	{BERTH_BYTES, "kB", 1e3},
	{BERTH_BYTES, "MB", 1e6},
	{BERTH_BYTES, "GB", 1e9},
	{BERTH_BYTES, "TB", 1e12},
	{BERTH_BYTES, "KiB", 0x1p10},
	{BERTH_BYTES, "MiB", 0x1p20},
	{BERTH_BYTES, "GiB", 0x1p30},
	{BERTH_BYTES, "TiB", 0x1p40},
	{BERTH_BYTES_PER_S, "B/s", 1},
	{BERTH_BYTES_PER_S, "KB/s", 1e3},
	{BERTH_BYTES_PER_S, "kB/s", 1e3},
	{BERTH_BYTES_PER_S, "MB/s", 1e6},
	{BERTH_BYTES_PER_S, "GB/s", 1e9},
	{BERTH_BYTES_PER_S, "TB/s", 1e12},
	{BERTH_BYTES_PER_S, "KiB/s", 0x1p10},
	{BERTH_BYTES_PER_S, "MiB/s", 0x1p20},
	{BERTH_BYTES_PER_S, "GiB/s", 0x1p30},
	{BERTH_BYTES_PER_S, "TiB/s", 0x1p40},
	{BERTH_BYTES_PER_S, "Mbit/s", 1.25e5},
	{BERTH_BYTES_PER_S, "Gbit/s", 1.25e8},
	{BERTH_FLOPS_PER_S, "FLOP/s", 1},
	{BERTH_FLOPS_PER_S, "MFLOP/s", 1e6},
	{BERTH_FLOPS_PER_S, "GFLOP/s", 1e9},
	{BERTH_FLOPS_PER_S, "TFLOP/s", 1e12},
	{BERTH_FLOPS_PER_S, "PFLOP/s", 1e15},
	{BERTH_FLOPS_PER_S, "MFLOPS", 1e6},
	{BERTH_FLOPS_PER_S, "GFLOPS", 1e9},
	{BERTH_FLOPS_PER_S, "TFLOPS", 1e12},
	{BERTH_FLOPS_PER_S, "PFLOPS", 1e15},
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

/* The micro sign has bytes above those of ASCII. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
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

double berth_unit_number(berth_quantity q, const char *text, const char **end)
{
	const char *unit;
	double x = berth_text_number(text, &unit), factor;
	*end = unit;
	if (isnan(x))
		return NAN;
	unit += *unit == ' ' && is_letter(unit[1]);
	factor = berth_unit(q, unit, &unit);
	if (factor > 0)
		*end = unit;
	return factor > 0 ? x * factor : NAN;
}

/* The first row of its quantity and factor. */
static bool is_listed(int i)
{
	int k = 0;
	while (units[k].quantity != units[i].quantity || units[k].factor != units[i].factor)
		k++;
	return k == i;
}

const char *berth_unit_names(berth_quantity q, char buf[96])
{
	size_t len = 0;
	buf[0] = '\0';
	for (int i = 0; i < N_UNITS && len < 96; i++)
		if (units[i].quantity == q && is_listed(i))
			len += (size_t)snprintf(buf + len, 96 - len, "%s%s", len ? ", " : "", units[i].name);
	return buf;
}

static bool is_step_of_1000(double factor)
{
	double steps = log10(factor) / 3;
	return fabs(steps - round(steps)) < 1e-9;
}

const char *berth_unit_text(berth_quantity q, double x, char buf[64])
{
	int best = -1;
	char number[32];
	for (int i = 0; i < N_UNITS; i++) {
		if (units[i].quantity != q || !is_listed(i) || !is_step_of_1000(units[i].factor))
			continue;
		double now = best < 0 ? 0 : x / units[best].factor, then = x / units[i].factor;
		bool better = now < 1 - 1e-12 ? then > now : then >= 1 - 1e-12 && then < now;
		best = best < 0 || better ? i : best;
	}
	snprintf(number, sizeof number, "%.6g", best < 0 ? x : x / units[best].factor);
	snprintf(buf, 64, "%s%s%s", number, best < 0 ? "" : " ", best < 0 ? "" : units[best].name);
	return buf;
}
