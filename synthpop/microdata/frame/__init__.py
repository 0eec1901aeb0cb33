"""Tables: frames of any library, their columns as codes and arrays, their dictionary."""
