"""The numba core: addressed words, counting kernels, their plain-Python twins.  Integers out."""
