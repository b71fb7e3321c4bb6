/* Times of operators as llama.cpp runs them. */
#pragma once

#include "problem_tables.h"

/* Changes the times of operators on CPUs, once routes are known. Those that see 32 tokens and more run on the
 * quickest GPU, with copies of their weights and cache (llama.cpp's op offload). Attention there reaches a
 * small share of the peak. O(ops * devs^2). */
void berth_llama_times(berth_problem *p);
