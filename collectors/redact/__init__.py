"""Evidence to evidence that tells nobody's names: hosts, addresses, users, serials become stable tokens.

The same thing has the same token throughout, and a token has the shape of what it stands for, so that whatever
could be concluded before can be concluded after. Standard library alone, since the collector brings it along.
"""

from __future__ import annotations

from collectors.redact.folder import Redaction, in_words, key_of, redact_folder
from collectors.redact.text import Redactor

__all__ = ["Redaction", "Redactor", "in_words", "key_of", "redact_folder"]
