"""What `psbench bench` measures: collectives, and rounds through a server, call by call.

Nothing is imported here, so that a plan can be made and checked without Ray.
"""
