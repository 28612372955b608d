"""Its folder is where the tests below it find what they share: packed.py and processes.py."""
