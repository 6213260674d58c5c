"""The training that is watched in this process, or None. Kept apart so that reading it imports nothing."""
training = None
