"""What a target allows: the moves between its memories, and the element types of its units."""
