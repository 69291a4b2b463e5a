"""The record of every event: who asked, which hooks looked at it, what each said, and what the agent was told.

A folder of segments. In each, one file has a short line for every event (what `fairlead log` searches), another the
whole of it. Each line carries the digest of its whole and of the line before, so that a change or a gap shows.
"""
