/* Defaults, checks, comparison and notes of the settings of learning, all from the one table of the
 * header. */
#include "learner_cfg.h"

#include "text.h"

static const char *const names[] = {
#define X(constant, operations, name) name,
	BERTH_DECODINGS(X)
#undef X
};

const char *berth_decoding_name(berth_decoding decoding)
{
	return names[decoding];
}

berth_status berth_decoding_parse(const char *name, berth_decoding *out, berth_err *err)
{
	int32_t at;
	BERTH_TRY(berth_text_find(names, BERTH_N_DECODINGS, name, "decoding", NULL, &at, err));
	*out = (berth_decoding)at;
	return BERTH_OK;
}

berth_learner_cfg berth_learner_cfg_default(void)
{
	return (berth_learner_cfg){
#define X(type, field, note, initial, least, most) .field = initial,
		BERTH_LEARNER_CFG(X, X)
#undef X
	};
}

berth_status berth_learner_cfg_range(const char *field, double x, double least, double most, berth_err *err)
{
	if (x >= least && x <= most)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "%s is %g; expected %g to %g", field, x, least, most);
}

berth_status berth_learner_cfg_check(const berth_learner_cfg *c, berth_err *err)
{
#define X(type, field, note, initial, least, most) \
	BERTH_TRY(berth_learner_cfg_range(#field, (double)c->field, least, most, err));
	BERTH_LEARNER_CFG(X, X)
#undef X
	return BERTH_OK;
}

bool berth_learner_cfg_equal(const berth_learner_cfg *a, const berth_learner_cfg *b)
{
	bool same = true;
#define X(type, field, note, initial, least, most) same &= a->field == b->field;
#define Y(type, field, note, initial, least, most)
	BERTH_LEARNER_CFG(X, Y)
#undef X
#undef Y
	return same;
}
