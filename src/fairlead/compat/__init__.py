"""The programming interfaces of other hook systems, over Fairlead's engine: changing the import is enough."""
