/* The style and the script of pages; made by the build out of the .css and .js files beside this one. Inside
 * the room only. */
#ifndef BERTH_PAGE_ASSETS_H
#define BERTH_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char berth_page_style[], berth_page_script[];
extern const size_t berth_page_style_size, berth_page_script_size;

#endif
