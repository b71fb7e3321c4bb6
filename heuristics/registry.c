/* The table of methods; see registry.h. */
#include "registry.h"

#define ENTRY(name) &berth_method_##name,

const berth_method *const berth_heuristics[] = {BERTH_HEURISTICS(ENTRY)};
const int32_t berth_n_heuristics = (int32_t)(sizeof berth_heuristics / sizeof *berth_heuristics);
