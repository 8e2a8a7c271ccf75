"""Real gradients in virtual time: every worker's learner, and the servers' stores, in one process.

The only part of `simulated` that needs torch.
"""
