"""Turns on several machines: gateways submit them through a queue in PostgreSQL, and workers run them.

Lives here: the queue, claiming and running turns, leases that are lost, limits per user, and the state of all workers.
May touch: PostgreSQL, through `sessions/` and pgqueuer, which only `queue.py` uses; it runs turns through `agent/`.
Start reading: `runner.py` (a gateway submits), then `worker.py` (a worker claims) and `turn_executor.py` (it runs).
"""
