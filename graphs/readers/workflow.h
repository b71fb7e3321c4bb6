/* Workflows: jobs that hand on files. What the readers of DAX and WfCommons share. A file is one tensor from
 * each job that makes it to those that take it. Files that no job makes are read from outside; those that no
 * job takes leave the graph. */
#pragma once

#include "columns.h"
#include "name_index.h"
#include "task_graph.h"

/* Stays where it is from workflow_begin on. Members are the module's own. */
typedef struct workflow {
	task_graph t;
	columns job, file, use, pair, maker;
	berth_name_index files;
	/* files of a negative size, and of several makers; negative runtimes */
	int32_t n_negative, n_shared, n_before;
	const char *negative, *shared; /* the first of each */
} workflow;

/* Without jobs. Messages of all of these have no place; all may fail with BERTH_EFORMAT and BERTH_ENOMEM. */
berth_status workflow_begin(workflow *w, const task_graph *t, const char *file);
/* The next job, an operator; spec's texts stay. */
berth_status workflow_job(workflow *w, const berth_op_spec *spec, int32_t *job);
/* In units of the file; 0 where nothing is told, or one below 0, which is warned of. */
berth_status workflow_runtime(workflow *w, int32_t job, double runtime);
/* The file of that name, which is copied. */
berth_status workflow_file(workflow *w, const char *name, size_t *file);
/* The job makes the file; size NAN: not told. One below 0 is taken for 0, and warned of. */
berth_status workflow_output(workflow *w, int32_t job, size_t file, double size);
/* The job takes it. Calls come job by job, in their order. The size of whoever makes it goes before that. */
berth_status workflow_input(workflow *w, int32_t job, size_t file, double size);
/* Its size, whoever makes it. */
berth_status workflow_size(workflow *w, size_t file, double size);
/* The child waits for the parent, whether a file joins them or not; a pair may be told more than once. */
berth_status workflow_parent(workflow *w, int32_t child, int32_t parent);
/* The graph; what was odd is warned of. O(all, sorted). */
berth_status workflow_finish(workflow *w, const char *file, berth_arena *mem, berth_graph *out);
