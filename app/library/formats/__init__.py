"""Bytes to text, one file a kind. Pure functions without limits: `app.library.extraction` bounds them.

These modules import little, and nothing else of the product: a process is started for one file.
"""
