"""Record linkage between an original and a released file."""
