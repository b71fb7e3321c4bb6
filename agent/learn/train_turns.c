/* Turns and collapse; see train_turns.h. */
#include "train_turns.h"

enum { FLAT_UPDATES = 16, LOOK_EVERY = 16, STRIDE = 7919 /* a prime */ };

#define SURE 0.1 /* nats */

berth_status train_turns_new(int32_t n_items, berth_arena *mem, train_turns *out, berth_err *err)
{
	*out = (train_turns){.n_items = n_items};
	return BERTH_NEW(mem, out->flat, n_items, err);
}

bool train_turns_collapsed(const train_turns *t, int32_t item)
{
	return t->flat[item] >= FLAT_UPDATES;
}

int32_t train_turns_n_collapsed(const train_turns *t)
{
	int32_t n = 0;
	for (int32_t i = 0; i < t->n_items; i++)
		n += train_turns_collapsed(t, i);
	return n;
}

int32_t train_turns_spread(int64_t turn, int32_t n_items)
{
	return (int32_t)(turn * (n_items % STRIDE ? STRIDE : 1) % n_items);
}

int32_t train_turns_next(train_turns *t)
{
	if (train_turns_n_collapsed(t) == t->n_items)
		return -1;
	for (;;) {
		int64_t turn = t->next++;
		int32_t item = train_turns_spread(turn, t->n_items);
		if (!train_turns_collapsed(t, item) || turn / t->n_items % LOOK_EVERY == 0)
			return item;
	}
}

void train_turns_note(train_turns *t, int32_t item, const berth_step_stats *stats, bool improved)
{
	bool flat = stats->worst == stats->best && stats->entropy < SURE && !improved;
	t->flat[item] = flat ? t->flat[item] + 1 : 0;
}
