/* See packed.h. */
#include "packed.h"

static double plain_s(const berth_system *s, int32_t l, double bytes)
{
	return s->link_latency_s[l] + bytes / s->link_bandwidth[l];
}

bool berth_hop_packed(const berth_system *s, int32_t l, double bytes)
{
	return s->link_packed_latency_s && bytes > 0 &&
	       s->link_packed_latency_s[l] + bytes * s->link_packed_s_per_byte[l] < plain_s(s, l, bytes);
}

double berth_hop_s(const berth_system *s, int32_t l, double bytes)
{
	return berth_hop_packed(s, l, bytes)
	               ? s->link_packed_latency_s[l] + bytes * s->link_packed_s_per_byte[l]
	               : plain_s(s, l, bytes);
}

berth_status berth_system_pack(berth_system *s, int factor, berth_arena *mem, berth_err *err)
{
	double *latency_s, *s_per_byte;
	BERTH_TRY(BERTH_NEW(mem, latency_s, s->n_links, err));
	BERTH_TRY(BERTH_NEW(mem, s_per_byte, s->n_links, err));
	for (int32_t l = 0; l < s->n_links; l++) {
		const int32_t end[2] = {s->link_from[l], s->link_to[l]};
		latency_s[l] = s->link_latency_s[l];
		s_per_byte[l] = 1 / (factor * s->link_bandwidth[l]);
		for (int k = 0; k < 2; k++) {
			double rate = s->dev_mem_bandwidth[end[k]];
			latency_s[l] += s->dev_op_overhead_s[end[k]];
			s_per_byte[l] += rate > 0 ? (1 + 1.0 / factor) / rate : 0;
		}
	}
	s->link_packed_latency_s = latency_s;
	s->link_packed_s_per_byte = s_per_byte;
	s->pack_factor = factor;
	return BERTH_OK;
}

double berth_packed_error(int factor)
{
	return factor == 2 ? 1.0 / 2048 : factor == 4 ? 1.0 / 254 : 1.0 / 14;
}
