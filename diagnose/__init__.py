"""The command line and the reports: the composition root. It imports everything, and nobody imports it."""

# Stands here, and the package's metadata takes it from here: asking importlib.metadata costs 60 ms at every start.
__version__ = "0.1.0"
