/* Which kinds of files are read in the sandbox, out of the one table of all that berth reads. A kind that the
 * table does not have is a mistake of ours. */
#include "inputs.h"

#include <assert.h>

bool berth_reads_boxed(berth_reads kind)
{
	static const bool boxed[] = {
#define BERTH_READS_BOXED(kind, boxed, what, who, fuzz, code) boxed,
		BERTH_READS(BERTH_READS_BOXED)};
	assert(kind < BERTH_N_READS);
	return boxed[kind];
}
