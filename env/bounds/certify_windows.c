/* Windows as a certificate; see certify_windows.h. */
#include "certify_windows.h"

#include <string.h>

enum {
	RECENT = 64
}; /* price vectors that a new one is looked for among: windows that repeat have the same */

/* The index of a price vector, added where it is new. */
static berth_status find_prices(berth_window_proof *w, const double *price, int32_t *at, berth_err *err)
{
	int32_t n = w->p->n_devs + w->p->n_pools, k = w->c.n_prices * n;
	for (int32_t r = 0; r < n; r++) {
		BERTH_TRY(BERTH_GROW(w->x->mem, w->c.price_vector, k + r, &w->cap_prices, err));
		w->c.price_vector[k + r] = (int64_t)price[r];
	}
	const int64_t *new = w->c.price_vector + k;
	for (*at = w->c.n_prices - 1; *at >= 0 && *at >= w->c.n_prices - RECENT; --*at)
		if (memcmp(new, w->c.price_vector + (size_t)*at * (size_t)n, (size_t)n * sizeof *new) == 0)
			return BERTH_OK;
	*at = w->c.n_prices++;
	return BERTH_OK;
}

berth_status berth_window_proof_add(berth_window_proof *w, berth_window_claim claim, const double *price,
                                    int32_t stride, const int32_t *told, berth_err *err)
{
	int32_t cases = claim.first < 0 ? 1 : w->p->n_devs;
	BERTH_TRY(BERTH_NEW(w->x->mem, claim.prices, cases, err));
	for (int32_t d = 0; d < cases; d++) {
		claim.prices[d] = -1;
		if (told[d] >= 0)
			BERTH_TRY(find_prices(w, price + (size_t)told[d] * (size_t)stride, &claim.prices[d],
			                      err));
	}
	BERTH_TRY(BERTH_GROW(w->x->mem, w->c.window, w->c.n_windows, &w->cap_windows, err));
	w->c.window[w->c.n_windows++] = claim;
	return BERTH_OK;
}

berth_status berth_window_proof_offer(berth_window_proof *w, berth_arena *tmp, berth_err *err)
{
	w->c.kind = BERTH_CERTIFICATE_WINDOWS;
	return berth_bound_proof_offer(w->x, w->p, &w->c, tmp, err);
}
