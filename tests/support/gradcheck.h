/* Gradients against central finite differences, in double. */
#pragma once

#include <stddef.h>

/* Compares grad[n] with the slope of f(ctx) in each x[i] (x is what f reads; it is left as it was). Fails
 * the test where the relative error exceeds 1e-6. Slopes at steps h and h/2 that differ show a kink (of
 * relu, of a clip) inside the step: such an entry is skipped, and returned as a count, for the caller to
 * bound. */
size_t gradcheck(const char *what, size_t n, double x[], const double grad[], double (*f)(void *ctx),
                 void *ctx);
