"""The warm path: `fairlead serve` answers for `fairlead hook`, with everything loaded already.

The answer is the same to the byte; what cannot be the same is not answered, and whoever asks starts `fairlead hook`.
"""
