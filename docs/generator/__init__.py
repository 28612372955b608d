"""What writes the reference of the site: pages of Markdown from the rules, the fact types and the catalogues.

Nothing of it is committed: `make docs` writes the pages into `build/docs`, beside copies of those that are written
by hand, and builds the site from there. A page is a path relative to that folder and its text.
"""
