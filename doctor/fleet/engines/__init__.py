"""How nodes are reached: a file for each engine, with the functions of `gather.Engine`."""
