"""A report as JSON, text or Markdown; the proof of a cause; the facts. Evidence leaves it harmless."""
