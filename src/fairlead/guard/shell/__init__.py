"""Reading shell text: grammar, words, and an abstract run of the result."""
