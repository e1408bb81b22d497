"""What git would run: its configuration, its index, repositories below the root, and commands that only run git."""
