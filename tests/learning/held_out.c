/* See held_out.h. */
#include "held_out.h"

#include <stdio.h>

/* No family of these is in scripts/training-pairs. */
static const char *const families[HELD_OUT_FAMILIES][3] = {
	{"zoo:inception-v3", "zoo:inception-v3:batch=16", "zoo:inception-v3:batch=4:training=1"},
	{"zoo:nasnet-a:size=mobile", "zoo:nasnet-a:size=mobile:batch=8", "zoo:nasnet-a:batch=4"},
	{"zoo:gpt2", "zoo:gpt2:batch=8", "zoo:gpt2:batch=8:training=1"},
	{"zoo:vit", "zoo:vit:batch=8", "zoo:vit:batch=8:training=1"},
	{"zoo:unet", "zoo:unet:batch=2", "zoo:unet:training=1"},
	{"zoo:gnmt:seq=4", "zoo:gnmt:seq=6", "zoo:gnmt:seq=8"},
	{"zoo:transformer", "zoo:transformer:batch=8", "zoo:transformer:batch=8:training=1"},
	{"zoo:moe:layers=2", "zoo:moe:layers=3", "zoo:moe:layers=4"},
	{"zoo:llama:layers=2", "zoo:llama:layers=4", "zoo:llama:layers=6"},
	{"zoo:llama-layer:tiles=2", "zoo:llama-block:tiles=2", "zoo:llama-block:tiles=4"},
};
static const char *const topologies[] = {"full", "bus", "star", "hosts"};

const char *held_out_model(uint32_t family, berth_rng *rng)
{
	return families[family][berth_rng_below(rng, 3)];
}

void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT])
{
	int devices = 3 + (int)berth_rng_below(rng, 5), spread = 10 + (int)berth_rng_below(rng, 90),
	    bandwidth = 1 << berth_rng_below(rng, 6), memory = 4 << berth_rng_below(rng, 4);
	snprintf(out, HELD_OUT_TEXT,
	         "random:devices=%d:topology=%s:seed=%d:heterogeneity=0.%d:bandwidth=%d:memory=%d", devices,
	         topologies[seed % 4], seed, spread, bandwidth, memory);
}
