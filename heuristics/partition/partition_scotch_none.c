/* berth built without Scotch. */
#include "partition.h"

const partition_library partition_scotch = {.name = "scotch", .package = "libscotch-dev"};
