"""Fault and attack cases that run against Toolgate and against the tool layers of other projects: `make compare`."""
