"""Virtual time: the same schedules, strategies and server rules, timed by a model of the network
instead of by moving bytes."""
