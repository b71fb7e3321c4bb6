/* berth built without METIS. */
#include "partition.h"

const partition_library partition_metis = {.name = "metis", .package = "libmetis-dev"};
