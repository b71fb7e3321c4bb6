/* The registry of methods. */
#include "methods.h"

#include "registry.h"

#define LEARNED(X) \
	X(cem)     \
	X(ppo)     \
	X(reinforce) \
	X(post)    \
	X(hsdag)   \
	X(doppler) \
	X(policy)  \
	X(berth)

#define ENTRY(name) &berth_method_##name,

LEARNED(BERTH_DECLARE_METHOD)

/* Learned methods, ended by NULL. */
static const berth_method *const learned[] = {LEARNED(ENTRY) NULL};

static int32_t n_learned(void)
{
	int32_t n = 0;
	while (learned[n])
		n++;
	return n;
}

int32_t berth_n_methods(void)
{
	return berth_n_heuristics + n_learned();
}

const berth_method *berth_method_at(int32_t i)
{
	return i < berth_n_heuristics ? berth_heuristics[i] : learned[i - berth_n_heuristics];
}

berth_status berth_method_find(const char *name, const berth_method **out, berth_err *err)
{
	enum { MOST = 64 };
	const char *names[MOST];
	int32_t n = 0, at;
	for (; n < berth_n_methods() && n < MOST; n++)
		names[n] = berth_method_at(n)->name;
	BERTH_TRY(berth_text_find(names, n, name, "method", "; 'berth methods' lists them", &at, err));
	*out = berth_method_at(at);
	return BERTH_OK;
}

const berth_method *berth_method_default(void)
{
	for (int32_t i = 0; i < berth_n_methods(); i++)
		if (strcmp(berth_method_at(i)->name, "berth") == 0)
			return berth_method_at(i);
	return NULL;
}
