/* The files in pages/, as they are. */
#include "sessionfs/render/html.h"

/* A file, as a string. */
#define ASSET(name, file)                                                                                              \
	extern const char name[] __attribute__((visibility("hidden")));                                                \
	__asm__(".pushsection .rodata\n" #name ": .incbin \"src/render/pages/" file "\"\n.byte 0\n.popsection")

ASSET(asset_base_css, "base.css");
ASSET(asset_session_css, "session.css");
ASSET(asset_session_js, "session.js");
ASSET(asset_plot_css, "plot.css");
ASSET(asset_index_css, "index.css");
ASSET(asset_index_js, "index.js");

const struct html_assets html_session = {{asset_base_css, asset_session_css}, asset_session_js};
const struct html_assets html_index = {{asset_base_css, asset_plot_css, asset_index_css}, asset_index_js};
const char *const html_plot_style = asset_plot_css;
