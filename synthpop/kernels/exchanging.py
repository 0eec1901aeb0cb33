"""Exchange of values between persons of an area, while tables come nearer to what is expected."""

from synthpop.microdata.runs.kernel import kernel, step


@step
def is_possible(r, q, members, is_member, fine, first, stride, possible):
    """Whether r may have the values of q in the columns `members`, and q those of r."""
    for f in members:
        if fine[r, f] == fine[q, f]:
            continue
        for g in range(fine.shape[1]):
            if is_member[g]:
                continue
            row = first[f, g] + stride[g, f] * fine[r, g] + stride[f, g] * fine[q, f]
            other = first[f, g] + stride[g, f] * fine[q, g] + stride[f, g] * fine[r, f]
            if not (possible[row] and possible[other]):
                return False
    return True


@step
def exchange(r, q, area, members, is_member, coarse, start, width, stride, cells, is_done):
    """Return the change of the sum of squared gaps over their scales; make it where `is_done`."""
    change = 0.0
    for f in members:
        x, y = coarse[r, f], coarse[q, f]
        if x == y:
            continue
        for g in range(coarse.shape[1]):
            if is_member[g] or coarse[r, g] == coarse[q, g]:
                continue
            table = start[f, g] + area * width[f, g]
            of_r, of_q = table + stride[g, f] * coarse[r, g], table + stride[g, f] * coarse[q, g]
            old_r, old_q = of_r + stride[f, g] * x, of_q + stride[f, g] * y
            new_r, new_q = of_r + stride[f, g] * y, of_q + stride[f, g] * x
            if is_done:
                cells[old_r, 0] -= 1.0
                cells[old_q, 0] -= 1.0
                cells[new_r, 0] += 1.0
                cells[new_q, 0] += 1.0
            else:
                change += (1.0 - 2.0 * cells[old_r, 0]) * cells[old_r, 1]
                change += (1.0 - 2.0 * cells[old_q, 0]) * cells[old_q, 1]
                change += (1.0 + 2.0 * cells[new_r, 0]) * cells[new_r, 1]
                change += (1.0 + 2.0 * cells[new_q, 0]) * cells[new_q, 1]
    return change


@kernel
def exchange_values(
    uniforms, areas, starts, persons, groups, ends, coarse, start, width, stride, cells, fine,
    first, fine_stride, possible, source,
):  # fmt: skip
    """Try one exchange for each row of uniforms (t, 3); make those that bring tables nearer.

    areas (n,); persons (n,): sorted by area, those of area a between starts[a] and starts[a + 1];
    groups (m,), ends: columns that move together, those of group b between ends[b] and
    ends[b + 1]. coarse (n, p): level of each column in its tables; start, width, stride (p, p):
    cell of columns f, g in area a: start[f, g] + a width[f, g] + level_f stride[f, g] + level_g
    stride[g, f]; cells (c, 2): what each has too many, and what its square counts.
    fine (n, p): values as they are told apart; first, fine_stride (p, p), possible: whether two
    values go together, in the same order. source (n, p): whose value each person has. coarse,
    cells, fine and source are changed. Returns the number of exchanges.
    """
    n, p = coarse.shape
    made, is_member = 0, [False] * p
    for t in range(len(uniforms)):
        # 1. A person, another one of the same area, and what they may exchange.
        r = int(uniforms[t, 0] * n)
        area = areas[r]
        low, high = starts[area], starts[area + 1]
        q = persons[low + int(uniforms[t, 1] * (high - low))]
        group = int(uniforms[t, 2] * (len(ends) - 1))
        members = groups[ends[group] : ends[group + 1]]
        differs = False
        for f in members:
            is_member[f] = True
            differs = differs or fine[r, f] != fine[q, f]
        # 2. Nearer to the tables, and nothing that the sample does not have.
        if (
            differs
            and exchange(r, q, area, members, is_member, coarse, start, width, stride, cells, False)
            < 0.0
            and is_possible(r, q, members, is_member, fine, first, fine_stride, possible)
        ):
            exchange(r, q, area, members, is_member, coarse, start, width, stride, cells, True)
            for f in members:
                coarse[r, f], coarse[q, f] = coarse[q, f], coarse[r, f]
                fine[r, f], fine[q, f] = fine[q, f], fine[r, f]
                source[r, f], source[q, f] = source[q, f], source[r, f]
            made += 1
        for f in members:
            is_member[f] = False
    return made
