"""What rewrites share: new ops carry the location of the op that they come from."""
