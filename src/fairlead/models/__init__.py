"""Language models: which one answers, how it is asked, and what it said. Imported only when a hook asks one."""
