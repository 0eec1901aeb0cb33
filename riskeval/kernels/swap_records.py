"""Pairing of households that exchange their place.

H households. Lists of possible partners are sorted by profile and, inside, by priority.
"""

from synthpop.microdata.runs.kernel import kernel


@kernel
def pair_up(starters, area, profile, members, first, pair, left, free, quota, budget, partner):
    """Give each starter the first free household of its profile in another area.

    starters (s,): households in the order in which they choose; area, profile (H,); members (H,):
    households sorted by profile and priority, profile p has members[first[p]:first[p + 1]];
    pair (H,): number of (profile, area); left (pairs,), free (profiles,): unpaired households of
    each; quota (areas,): starters an area may still have; budget (1,): pairs in all; partner (H,):
    -1 or the partner. partner, left, free, quota, budget and first are changed in place.
    """
    for s in range(len(starters)):
        i = starters[s]
        p, a = profile[i], area[i]
        if partner[i] >= 0 or quota[a] <= 0 or free[p] == left[pair[i]]:
            continue
        if budget[0] <= 0:
            return
        while partner[members[first[p]]] >= 0:
            first[p] += 1
        position = first[p]
        while partner[members[position]] >= 0 or area[members[position]] == a:
            position += 1
        j = members[position]
        partner[i], partner[j] = j, i
        quota[a] -= 1
        budget[0] -= 1
        free[p] -= 2
        left[pair[i]] -= 1
        left[pair[j]] -= 1
