/* See machine.h. */
#include "machine.h"

#include "pcie.h"

berth_machine_cfg berth_machine_cfg_default(void)
{
	return (berth_machine_cfg){berth_gpu_cfg_default(), "/sys"};
}

static berth_cpu_team team_of(const berth_cpu_nodes *cpus, int32_t node)
{
	const berth_cpu_node *n = &cpus->node[node];
	return (berth_cpu_team){&cpus->core[n->first_core], n->n_cores, n->cache_bytes, n->memory_bytes};
}

berth_status berth_machine_find_core(berth_cpu_nodes *cpus, berth_cpu_figures *core, berth_figure *latency,
                                     berth_err *err)
{
	berth_figure unused;
	BERTH_TRY(berth_cpu_nodes_find(cpus, err));
	berth_cpu_nodes_limit(cpus, "/sys");
	berth_cpu_team one = team_of(cpus, 0), other = one;
	one.n_cores = other.n_cores = 1;
	if (cpus->node[0].n_cores > 1)
		other.core++;
	BERTH_TRY(berth_cpu_measure(&one, core, err));
	return berth_cpu_measure_link(&one, &other, &unused, latency, err);
}

static berth_status find_cpus(berth_arena *mem, berth_machine *m, berth_err *err)
{
	int32_t n = m->cpus.n;
	BERTH_TRY(BERTH_NEW(mem, m->node_bandwidth, n * n, err));
	BERTH_TRY(BERTH_NEW(mem, m->node_latency, n * n, err));
	for (int32_t i = 0; i < n; i++) {
		berth_cpu_team to = team_of(&m->cpus, i);
		BERTH_TRY(berth_cpu_measure(&to, &m->node[i], err));
		for (int32_t k = 0; k < n; k++) {
			berth_figure *bandwidth = &m->node_bandwidth[k * n + i];
			berth_figure *latency = &m->node_latency[k * n + i];
			berth_cpu_team from = team_of(&m->cpus, k);
			*bandwidth = *latency = berth_figure_missing("");
			if (i != k)
				BERTH_TRY(berth_cpu_measure_link(&from, &to, bandwidth, latency, err));
		}
	}
	return BERTH_OK;
}

static berth_status find_gpus(const berth_machine_cfg *cfg, berth_machine *m, berth_err *err)
{
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		BERTH_TRY(berth_gpu_ask(&cfg->gpu, (berth_gpu_library)l, &m->answer[l], err));
	berth_gpus_merge(m->answer, &m->gpus, &m->dropped);
	berth_gpus_look_up(&m->gpus);
	for (int32_t i = 0; i < m->gpus.n; i++) {
		m->pcie[i] = berth_pcie_bandwidth(cfg->sysfs, &m->gpus.gpu[i].pci);
		m->gpu_node[i] = berth_pcie_node(cfg->sysfs, &m->gpus.gpu[i].pci);
	}
	m->n_untold = berth_pcie_untold(cfg->sysfs, &m->gpus, BERTH_MAX_UNTOLD, m->untold);
	return BERTH_OK;
}

berth_status berth_machine_find(const berth_machine_cfg *cfg, berth_arena *mem, berth_machine **out,
                                berth_err *err)
{
	berth_machine *m;
	BERTH_TRY(BERTH_NEW(mem, m, 1, err));
	BERTH_TRY(find_gpus(cfg, m, err));
	BERTH_TRY(berth_cpu_nodes_find(&m->cpus, err));
	berth_cpu_nodes_limit(&m->cpus, cfg->sysfs);
	BERTH_TRY(find_cpus(mem, m, err));
	*out = m;
	return BERTH_OK;
}
