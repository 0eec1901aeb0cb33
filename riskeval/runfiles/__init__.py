"""Plans as TOML files: assess, protect and compare."""
