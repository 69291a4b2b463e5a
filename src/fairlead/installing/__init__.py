"""Putting Fairlead into the settings of an agent, and taking it out again without a trace.

`specs` says where and how each agent wants it; `planning` turns that into changed texts, each format with
an editor of its own (`jsonsettings`, `tomlsettings`, `yamlsettings`) that leaves every other byte alone;
`applying` writes them so that nothing can be lost; `records` remembers what was there before.
"""
