"""What each op does when it is executed: one table of factories a group of dialects."""
