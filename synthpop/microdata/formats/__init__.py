"""Files: formats of survey offices, TOML, folders on a disk or in object storage."""
