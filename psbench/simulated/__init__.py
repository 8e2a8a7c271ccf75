"""Virtual time: the same schedules, timed by a model of the network instead of by moving bytes.

The door so far is `psbench.simulated.collective`.
"""
