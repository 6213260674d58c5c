"""Runs scripts with and without Highwater's hooks and reads what the hooks told."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src", "python")
sys.path.insert(0, SOURCES)
