"""From facts and rules to findings: matching, weighing, advising, justifying. Knows nothing of any domain."""
