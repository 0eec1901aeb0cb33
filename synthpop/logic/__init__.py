"""The logic of a file: rules that its rows keep although nobody wrote them down."""
