"""The command line and the reports: the composition root. It imports everything, and nobody imports it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("gpu-diagnose")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"
