/* m-ETF of Baechi (Jeon et al. 2020, see m_topo.c): earliest task first, where memory allows it (etf.h). */
#include "etf.h"
#include "method.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return etf_offer(s, NULL, tmp, err);
}

const berth_method berth_method_m_etf = {
	"m-etf",
	"The operator and device that can start first, where memory allows it (Baechi, Jeon et al. 2020).",
	false, run, NULL};
