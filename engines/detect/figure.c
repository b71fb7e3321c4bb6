/* A figure of the description of a machine, and where it comes from: one that is out of all bounds is
 * missing, and says why. */
#include "figure.h"

#include <stdarg.h>

const char *berth_origin_name(berth_origin o)
{
	static const char *const name[] = {"given", "measured", "driver", "table", "missing"};
	return name[o];
}

berth_figure berth_figure_missing(const char *why)
{
	berth_figure f = {.origin = BERTH_ORIGIN_MISSING};
	snprintf(f.how, sizeof f.how, "%s", why);
	return f;
}

berth_figure berth_figure_of(double value, double least, double most, berth_origin origin, const char *fmt,
                             ...)
{
	berth_figure f = {.value = value, .origin = origin};
	if (!(value >= least && value <= most)) {
		f = (berth_figure){.origin = BERTH_ORIGIN_MISSING};
		snprintf(f.how, sizeof f.how, "%s, which cannot be: %.6g",
		         origin == BERTH_ORIGIN_MEASURED ? "a time was measured" : "the driver says", value);
		return f;
	}
	va_list args;
	va_start(args, fmt);
	vsnprintf(f.how, sizeof f.how, fmt, args);
	va_end(args);
	return f;
}

const berth_figure *berth_figure_better(const berth_figure *a, const berth_figure *b)
{
	return b->origin < a->origin ? b : a;
}
