"""The shared ground of both packages: roles, coded columns, random streams, results, errors.

Nothing is imported here, so that a kernel may take the numba wrapper without paying for pandas.
"""
