/* Finite differences with one step of Richardson extrapolation; see gradcheck.h. */
#include "gradcheck.h"

#include "support.h"

#include <math.h>

static double slope(double *x, double h, double (*f)(void *ctx), void *ctx)
{
	double at = *x;
	*x = at + h;
	double up = f(ctx);
	*x = at - h;
	double down = f(ctx);
	*x = at;
	return (up - down) / (2 * h);
}

size_t gradcheck(const char *what, size_t n, double x[], const double grad[], double (*f)(void *ctx),
                 void *ctx)
{
	const double h = 2e-4;
	size_t kinks = 0;
	for (size_t i = 0; i < n; i++) {
		double wide = slope(x + i, h, f, ctx), narrow = slope(x + i, h / 2, f, ctx),
		       limit = (4 * narrow - wide) / 3;
		double size = fmax(fmax(fabs(limit), fabs(grad[i])), 1e-3);
		if (fabs(limit - grad[i]) <= 1e-6 * size)
			continue;
		if (fabs(wide - narrow) > 1e-5 * size) {
			kinks++;
			continue;
		}
		print_error("%s[%zu]: gradient %.12g, finite difference %.12g\n", what, i, grad[i], limit);
		fail();
	}
	return kinks;
}
