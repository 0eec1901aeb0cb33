"""Whether another distribution has put its files into the packages of this one.

The index has other distributions that install a package ``synthpop``. Installed into the same
environment, the one that comes later overwrites files of the other.
"""

from __future__ import annotations

import os
import re

OURS = "synthpop_riskeval"
_OTHERS = re.compile(r"((?:py|python)?[-_.]?synthpop)-(\S+?)\.(?:dist|egg)-info", re.IGNORECASE)


def others_beside(package_file: str) -> list[str]:
    """Return name and version of other distributions of a package synthpop in the same folder."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(package_file)))
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    matches = (_OTHERS.fullmatch(name) for name in names)
    return sorted(f"{match[1]} {match[2]}" for match in matches if match)


def warn_of_others(package_file: str) -> None:
    """Warn where another distribution of the same package name is installed as well."""
    others = others_beside(package_file)
    if others:
        import warnings

        from synthpop.microdata.messages.errors import MicrodataWarning

        text = (
            f"{' and '.join(others)} installs a package synthpop too and overwrites files of "
            "synthpop-riskeval. Repair it: pip uninstall "
            f"{' '.join(other.split()[0] for other in others)}, then pip install "
            "--force-reinstall synthpop-riskeval."
        )
        warnings.warn(text, MicrodataWarning, stacklevel=3)
