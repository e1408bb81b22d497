"""Documents: pictures, PDF files and notebooks, as content that models can use.

Lives here: what a file is by its bytes, and the worker process that decodes it with limits on memory and time.
May touch: nothing itself; files come as descriptors from `workspace/`, the worker is started by `process/`.
Start reading: `reading.py`, then `job.py`, which runs `worker.py`.
"""
