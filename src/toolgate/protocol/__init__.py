"""Plain data that every room speaks: modes, calls, the envelope, plans, approvals and ports."""
