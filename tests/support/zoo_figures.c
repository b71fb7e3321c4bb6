/* See zoo_figures.h. Parameters are exact where the source gives them all. */
#include "zoo_figures.h"

#include "zoo.h"

#include <stdio.h>
#include <string.h>

#define TORCHVISION "torchvision, table of weights"
#define GPT2 "model card gpt2"
#define LLAMA2 "model card Llama-2"
#define XIE "Xie et al. 2019, tables 2-4, mean of wirings"

static const zoo_figure figures[] = {
	{"zoo:alexnet", 0.7142e9, 61100840, 0, 0, TORCHVISION},
	{"zoo:vgg11", 7.61e9, 132863336, 0, 0, TORCHVISION},
	{"zoo:vgg13", 11.31e9, 133047848, 0, 0, TORCHVISION},
	{"zoo:vgg16", 15.47e9, 138357544, 0, 0, TORCHVISION},
	{"zoo:vgg19", 19.63e9, 143667240, 0, 0, TORCHVISION},
	{"zoo:resnet18", 1.814e9, 11689512, 0, 0, TORCHVISION},
	{"zoo:resnet34", 3.664e9, 21797672, 0, 0, TORCHVISION},
	{"zoo:resnet50", 4.089e9, 25557032, 0, 0, TORCHVISION},
	{"zoo:resnet101", 7.801e9, 44549160, 0, 0, TORCHVISION},
	{"zoo:resnet152", 11.514e9, 60192808, 0, 0, TORCHVISION},
	{"zoo:inception-v3", 5.713e9, 23834568, 0, 0, TORCHVISION ", without the auxiliary head"},
	{"zoo:densenet121", 2.834e9, 7978856, 0, 0, TORCHVISION},
	{"zoo:mobilenet-v2", 0.3008e9, 3504872, 0, 0, TORCHVISION},
	{"zoo:nasnet-a", 23.8e9, 88.9e6, 0, 0, "Zoph et al. 2018, table 2"},
	{"zoo:nasnet-a:size=mobile", 564e6, 5.3e6, 0, 0, "Zoph et al. 2018, table 3"},
	{"zoo:randwire", 583e6, 5.6e6, 0, 20, XIE},
	{"zoo:randwire:regime=regular:channels=109", 4.0e9, 31.9e6, 0, 20, XIE},
	{"zoo:randwire:regime=regular:channels=154", 7.9e9, 61.5e6, 0, 20, XIE},
	{"zoo:vit", 17.564e9, 86567656, 0, 0, TORCHVISION},
	{"zoo:vit:size=large", 61.555e9, 304326632, 0, 0, TORCHVISION},
	{"zoo:vit:size=huge", 167.295e9, 632045800, 0, 0, TORCHVISION},
	{"zoo:unet", 0, 31.03e6, 0, 0, "sizes of figure 1 in Ronneberger et al. 2015"},
	{"zoo:bert-base", 11.17e9, 109482240, 0, 0, "model card bert-base-uncased; MACs: sizes of the paper"},
	{"zoo:bert-large", 39.46e9, 335141888, 0, 0,
	 "model card bert-large-uncased; MACs: sizes of the paper"},
	{"zoo:gpt2:seq=1024", 145.82e9, 124439808, 0, 0, GPT2 "; MACs: sizes of the paper"},
	{"zoo:gpt2-medium", 0, 354823168, 0, 0, GPT2 "-medium"},
	{"zoo:gpt2-large", 0, 774030080, 0, 0, GPT2 "-large"},
	{"zoo:gpt2-xl", 0, 1557611200, 0, 0, GPT2 "-xl"},
	{"zoo:transformer", 0, 65e6, 0.035, 0, "Vaswani et al. 2017, table 3 (its sizes make 63.0 M)"},
	{"zoo:transformer:size=big", 0, 213e6, 0, 0, "Vaswani et al. 2017, table 3"},
	{"zoo:rnnlm", 0, 66e6, 0, 0, "Merity et al. 2018 (arXiv 1708.02182), table 1"},
	{"zoo:gnmt", 0, 160671297, 0, 0, "layer sizes of the MLPerf training reference, GNMT v2"},
	{"zoo:llama", 0, 6738415616, 0, 0, LLAMA2 "-7b"},
	{"zoo:llama:layers=40:hidden=5120:heads=40:kv-heads=40:ffn=13824", 0, 13015864320, 0, 0,
	 LLAMA2 "-13b"},
	{"zoo:llama:layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672", 0, 68976648192, 0, 0,
	 LLAMA2 "-70b"},
	{"zoo:llama:kv-heads=8:ffn=14336:vocab=128256", 0, 8030261248, 0, 0, "model card Meta-Llama-3-8B"},
	{"zoo:moe", 0, 46702792704, 0, 0, "model card Mixtral-8x7B-v0.1"},
};

const zoo_figure *zoo_figures(int *n)
{
	*n = sizeof figures / sizeof *figures;
	return figures;
}

berth_status zoo_count(const zoo_figure *f, zoo_counts *out, berth_err *err)
{
	zoo_counts sum = {0};
	int n = f->seeds ? f->seeds : 1;
	for (int i = 1; i <= n; i++) {
		char spec[160];
		snprintf(spec, sizeof spec, f->seeds ? "%s:seed=%d" : "%s", f->spec, i);
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_status st = berth_zoo_build(spec, &mem, &tmp, &g, err);
		if (st == BERTH_OK) {
			bool half = strncmp(spec, "zoo:llama:", 10) == 0 || strcmp(spec, "zoo:llama") == 0 ||
			            strncmp(spec, "zoo:moe", 7) == 0;
			sum.ops += g.n_ops;
			sum.macs += berth_graph_macs(&g);
			sum.params += (double)berth_graph_param_bytes(&g) / (half ? 2 : 4);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		BERTH_TRY(st);
	}
	*out = (zoo_counts){sum.ops / n, sum.macs / n, sum.params / n};
	return BERTH_OK;
}
