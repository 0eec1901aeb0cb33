"""Pairs that exchange partners."""

from __future__ import annotations

from synthpop.microdata.runs.kernel import kernel, step


@kernel
def improve_pairs(pairs, gap, needs):
    """Let two pairs exchange partners while this lowers the sum of their gaps; in place.

    gap : float64, shape (n, n); symmetric; infinite where two must not be a pair
    needs : bool, shape (n,); a pair of two that need no partner costs nothing
    """
    changed = True
    while changed:
        changed = False
        for i in range(len(pairs)):
            for j in range(i + 1, len(pairs)):
                a, b = pairs[i, 0], pairs[i, 1]
                c, d = pairs[j, 0], pairs[j, 1]
                now = cost_of_pair(a, b, gap, needs) + cost_of_pair(c, d, gap, needs)
                one = cost_of_pair(a, c, gap, needs) + cost_of_pair(b, d, gap, needs)
                two = cost_of_pair(a, d, gap, needs) + cost_of_pair(b, c, gap, needs)
                if one < now - 1e-9 and one <= two:
                    pairs[i, 1] = c
                    pairs[j, 0] = b
                    changed = True
                elif two < now - 1e-9:
                    pairs[i, 1] = d
                    pairs[j, 1] = b
                    changed = True


@step
def cost_of_pair(first, second, gap, needs):
    """Return the gap of two, 0 where neither needs a partner."""
    if not needs[first] and not needs[second]:
        return 0.0
    return gap[first, second]
