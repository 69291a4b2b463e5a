"""One file for each way to answer. A handler starts work and reads a verdict in what came of it."""
