"""How Sphinx builds the site from the pages that `make_site.py` writes."""

import diagnose

project = "diagnose"
release = diagnose.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 3
highlight_language = "sh"
smartquotes = False  # `--flag` must stay `--flag`

html_theme = "furo"
html_title = "diagnose"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_use_index = False
html_show_sphinx = False
html_show_search_summary = False  # a summary is fetched, which browsers refuse to pages of file://
