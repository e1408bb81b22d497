"""The runtime: registry, gates, policy and the one pipeline that every call goes through."""
