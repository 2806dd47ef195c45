"""What verifiers know about a program without its data, apart from the passes that they check."""
