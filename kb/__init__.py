"""What can be said about a machine and its jobs, and what a rule looks like.

Fact types, evidence and its sources, the models of rule files, their loader and their checks.
Imports nothing of this project outside itself; everyone else may import it.
"""
