"""OpenTelemetry: what happened goes to a collector, without anybody waiting for it.

`tracing` gives each event and each hook its place in a trace, `handing` writes down what became of them, `spool` keeps
that until it is sent. All of that is in the process that answers the agent. `exporter` is a process of its own: it
reads the spool, turns it into messages (`otlp`, `totals`) and sends them (`sending`).
"""
